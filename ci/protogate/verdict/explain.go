package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fletchdb/fletch/ci/protogate/config"
)

// A Topic is something that Explain has a page for.
type Topic struct{ ID, Text string }

// Topics are the policies and verdicts, in the order in which people meet them.
var Topics = []Topic{
	{string(config.Lockstep), `Both ends of the surface run one version, and refuse each other when it differs. What breaks moves the version to the last
release's plus one; nothing else moves it. All breaks between two releases share one bump. A change of meaning that neither
schema nor golden vector shows is stated in a file of reasons, named for the new version.`},
	{string(config.Stable), `Peers of every release are out there. Nothing they rely on goes or changes its meaning. Where the surface has a version, a package is
a major and the version its minor: additions between two releases move it by one, together; what breaks goes into the next major,
a package beside the old one. Where it has none, nothing ever breaks.`},
	{string(config.Archive), `What was written is read for ever. Additions move nothing. What breaks moves the version by one and brings an upcaster from the
released version to the new one, and files of the released version that prove that it works.`},
	{MissingBump, `Something changed that a peer of the last release would get wrong, and the version is still that release's. Two processes that do
not understand each other would take each other for equal. Move the version by one, in the file that the verdict names, or take the
change back.`},
	{NeedlessBump, `The version moved, and nothing that a peer relies on changed since the last release. A bump shuts out every peer of the old version;
without cause that is an outage. Move it back. If something changed its meaning that the gate cannot see, say what in the surface's
file of reasons, named for the new version.`},
	{BumpTooFar, `All changes between two releases share one bump: the version is the last release's, or that plus one.`},
	{BumpBack, `A version never goes back: a number that was released has one meaning for ever.`},
	{ReasonMissing, `The version moved, no schema and no golden vector changed, and the file of reasons for it says nothing. Write what changed its meaning,
and what a peer of the version before would do wrong.`},
	{ReasonWithout, `A file gives the reason for a version that the schema does not have. Move the version, or delete the file.`},
	{MissingMinor, `Something was added, and the minor is still the last release's: a client cannot tell a server that has it from one that has not. Move
the minor by one.`},
	{NeedlessMinor, `The minor moved, and nothing was added since the last release. Move it back.`},
	{BreakInMajor, `Something that clients rely on changed or went. No version makes that right within a major. Take it back and put the new form beside
the old one, or begin the next major in a package of its own.`},
	{BreakForEver, `The surface has no version, since peers of all times must understand each other through it: who they are, how a refusal reads. Take
the change back. A new field whose absence means what it meant before is all that may come.`},
	{NoUpcaster, `What was written under the old version can no longer be read as it is. Write the code that turns an old message into a new one, where
the configuration's upcaster pattern looks for it. The old message stays in the schema.`},
	{NoFixture, `Nothing proves that what was written under the old version can be read. Let the last release write a file, keep it where the
configuration's fixtures pattern looks, and never change it.`},
	{VersionRemoved, `The option that holds the surface's version is gone from the schema. Put the line back.`},
	{VersionMissing, `The configuration names an option as the surface's version, and no file of the module sets it.`},
	{VersionTwice, `Two files set the surface's version. They will disagree one day. Keep one.`},
	{FirstVersion, `What was never released has version 1 (a minor: 0). There is nobody yet whom a higher one could tell apart.`},
	{SurfaceRemoved, `The last release has a surface that the configuration no longer names: nobody would watch it.`},
	{GateLoosened, `The configuration allows what it forbade at the last release: another policy, another version option, a rule or the golden vectors
missing. What judges a change may not change with it. protogate release --loosen makes it part of a release.`},
	{BaselineTouched, `A frozen baseline or golden vector is not what its lock says. They are written by protogate release, and by nothing else.`},
	{BaselineDeleted, `A frozen file that its lock lists is not there.`},
	{BaselineForeign, `A file lies among the frozen ones that no lock lists.`},
	{LockBroken, `A lock is missing, or is not as protogate release wrote it.`},
	{ChainBroken, `A lock holds the SHA-256 of the lock before it, and that is another one now: an older release was changed, removed or put in between.`},
	{FixtureTouched, `A file that an old build wrote, kept as proof that it can still be read, was changed.`},
	{FixtureDeleted, `A file that an old build wrote, kept as proof that it can still be read, is gone.`},
	{HistoryTouched, `A frozen file and its lock were edited together, so that they agree with each other. The commit that brought the release has them
otherwise.`},
	{ReleaseDeleted, `The history has a release whose folder is gone.`},
	{ReleaseStale, `A release names the trees of the sources it was frozen from, and no commit has them together with its lock. Commit what protogate
release wrote by itself, with nothing else in the commit.`},
}

// Explain is what a policy, a verdict or a rule means, "" for what is none.
func Explain(id string) string {
	if i := slices.IndexFunc(Topics, func(t Topic) bool { return t.ID == id }); i >= 0 {
		return strings.ReplaceAll(Topics[i].Text, "\n", " ")
	}
	for _, r := range reasons {
		if matches(r.rule, id) {
			text := Why(id, Peer{Name: "peer", Of: "the last release"})
			if r.stored != "" && r.stored != r.live {
				text += fmt.Sprintf(" In an archive: %s.", strings.TrimSuffix(fmt.Sprintf(r.stored, "a writer of the last release"), "."))
			}
			return text
		}
	}
	return ""
}
