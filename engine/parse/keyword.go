package parse

// A keyword is a word that the grammar knows; 0 is none. Most keywords are names too wherever a name can stand.
type keyword uint16

// A keywordClass says where a keyword is also a name, as in PostgreSQL.
type keywordClass uint8

const (
	free     keywordClass = iota // anywhere
	needsAs                      // anywhere, but as an alias only after AS
	typeFunc                     // as the name of a function or a type only
	reserved                     // only after AS, and after a dot
)

func (k keyword) String() string { return keywords[k].upper }

func (k keyword) lower() string { return keywords[k].lower }

func (k keyword) class() keywordClass { return keywords[k].class }

// lookup is the keyword that a word is in any case, 0 if it is none.
func lookup(word string) keyword {
	if len(word) > maxKeyword {
		return 0
	}
	var lower [maxKeyword]byte
	for i := range len(word) {
		c := word[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	return byWord[string(lower[:len(word)])]
}

var byWord = func() map[string]keyword {
	m := make(map[string]keyword, len(keywords))
	for k, w := range keywords {
		if k > 0 {
			m[w.lower] = keyword(k)
		}
	}
	return m
}()

const maxKeyword = 17

const (
	_ keyword = iota
	kwAbort
	kwAll
	kwAlter
	kwAnalyse
	kwAnalyze
	kwAnd
	kwAnti
	kwAny
	kwArray
	kwAs
	kwAsc
	kwAsof
	kwAsymmetric
	kwAt
	kwAttach
	kwAuthorization
	kwBegin
	kwBetween
	kwBinary
	kwBit
	kwBoth
	kwBy
	kwCall
	kwCascade
	kwCase
	kwCast
	kwChar
	kwCharacter
	kwCheck
	kwCheckpoint
	kwClose
	kwCollate
	kwCollation
	kwColumn
	kwColumns
	kwComment
	kwCommit
	kwConcurrently
	kwConstraint
	kwCopy
	kwCreate
	kwCross
	kwCube
	kwCurrent
	kwCurrentCatalog
	kwCurrentDate
	kwCurrentRole
	kwCurrentSchema
	kwCurrentTime
	kwCurrentTimestamp
	kwCurrentUser
	kwData
	kwDatabase
	kwDatabases
	kwDeallocate
	kwDeclare
	kwDefault
	kwDeferrable
	kwDelete
	kwDesc
	kwDescribe
	kwDetach
	kwDistinct
	kwDo
	kwDouble
	kwDrop
	kwElse
	kwEnd
	kwEscape
	kwExcept
	kwExclude
	kwExecute
	kwExists
	kwExplain
	kwExport
	kwExternal
	kwExtract
	kwFalse
	kwFetch
	kwFilter
	kwFirst
	kwFollowing
	kwFor
	kwForeign
	kwFormat
	kwFreeze
	kwFrom
	kwFull
	kwFunctions
	kwGrant
	kwGroup
	kwGrouping
	kwGroups
	kwHaving
	kwIf
	kwIgnore
	kwIlike
	kwImport
	kwIn
	kwIndex
	kwInitially
	kwInner
	kwInsert
	kwInstall
	kwIntersect
	kwInterval
	kwInto
	kwIs
	kwIsnull
	kwIsolation
	kwJoin
	kwKey
	kwLast
	kwLateral
	kwLeading
	kwLeft
	kwLevel
	kwLike
	kwLimit
	kwListen
	kwLoad
	kwLocal
	kwLocaltime
	kwLocaltimestamp
	kwLocation
	kwLock
	kwMap
	kwMaterialized
	kwMerge
	kwMove
	kwName
	kwNational
	kwNatural
	kwNchar
	kwNext
	kwNo
	kwNot
	kwNotify
	kwNotnull
	kwNull
	kwNulls
	kwOffset
	kwOn
	kwOnly
	kwOptions
	kwOr
	kwOrder
	kwOrdinality
	kwOthers
	kwOuter
	kwOver
	kwOverlaps
	kwOverlay
	kwPartition
	kwPartitioned
	kwPivot
	kwPlacing
	kwPosition
	kwPositional
	kwPragma
	kwPreceding
	kwPrecision
	kwPrepare
	kwPrimary
	kwQualify
	kwRange
	kwRead
	kwRecursive
	kwReferences
	kwRefresh
	kwReindex
	kwRelease
	kwRename
	kwReplace
	kwReset
	kwRespect
	kwRestrict
	kwReturning
	kwRevoke
	kwRight
	kwRollback
	kwRollup
	kwRow
	kwRows
	kwSavepoint
	kwSchema
	kwSchemas
	kwSelect
	kwSemi
	kwSequence
	kwSession
	kwSessionUser
	kwSet
	kwSets
	kwShow
	kwSimilar
	kwSome
	kwStart
	kwStored
	kwStruct
	kwSubstring
	kwSummarize
	kwSymmetric
	kwSystemUser
	kwTable
	kwTables
	kwTablesample
	kwTemp
	kwTemporary
	kwThen
	kwTies
	kwTime
	kwTimestamp
	kwTo
	kwTrailing
	kwTransaction
	kwTrim
	kwTrue
	kwTruncate
	kwTryCast
	kwType
	kwUnbounded
	kwUnion
	kwUnique
	kwUnknown
	kwUnlisten
	kwUnpivot
	kwUnsigned
	kwUpdate
	kwUse
	kwUser
	kwUsing
	kwVacuum
	kwValues
	kwVariadic
	kwVarying
	kwVerbose
	kwView
	kwViews
	kwWhen
	kwWhere
	kwWindow
	kwWith
	kwWithin
	kwWithout
	kwWork
	kwWrite
	kwZone
)

var keywords = [...]struct {
	lower, upper string
	class        keywordClass
}{
	kwAbort:            {"abort", "ABORT", free},
	kwAll:              {"all", "ALL", reserved},
	kwAlter:            {"alter", "ALTER", free},
	kwAnalyse:          {"analyse", "ANALYSE", reserved},
	kwAnalyze:          {"analyze", "ANALYZE", reserved},
	kwAnd:              {"and", "AND", reserved},
	kwAnti:             {"anti", "ANTI", free},
	kwAny:              {"any", "ANY", reserved},
	kwArray:            {"array", "ARRAY", reserved},
	kwAs:               {"as", "AS", reserved},
	kwAsc:              {"asc", "ASC", reserved},
	kwAsof:             {"asof", "ASOF", free},
	kwAsymmetric:       {"asymmetric", "ASYMMETRIC", reserved},
	kwAt:               {"at", "AT", free},
	kwAttach:           {"attach", "ATTACH", free},
	kwAuthorization:    {"authorization", "AUTHORIZATION", typeFunc},
	kwBegin:            {"begin", "BEGIN", free},
	kwBetween:          {"between", "BETWEEN", free},
	kwBinary:           {"binary", "BINARY", typeFunc},
	kwBit:              {"bit", "BIT", free},
	kwBoth:             {"both", "BOTH", reserved},
	kwBy:               {"by", "BY", free},
	kwCall:             {"call", "CALL", free},
	kwCascade:          {"cascade", "CASCADE", free},
	kwCase:             {"case", "CASE", reserved},
	kwCast:             {"cast", "CAST", reserved},
	kwChar:             {"char", "CHAR", free},
	kwCharacter:        {"character", "CHARACTER", free},
	kwCheck:            {"check", "CHECK", reserved},
	kwCheckpoint:       {"checkpoint", "CHECKPOINT", free},
	kwClose:            {"close", "CLOSE", free},
	kwCollate:          {"collate", "COLLATE", reserved},
	kwCollation:        {"collation", "COLLATION", typeFunc},
	kwColumn:           {"column", "COLUMN", reserved},
	kwColumns:          {"columns", "COLUMNS", free},
	kwComment:          {"comment", "COMMENT", free},
	kwCommit:           {"commit", "COMMIT", free},
	kwConcurrently:     {"concurrently", "CONCURRENTLY", typeFunc},
	kwConstraint:       {"constraint", "CONSTRAINT", reserved},
	kwCopy:             {"copy", "COPY", free},
	kwCreate:           {"create", "CREATE", reserved},
	kwCross:            {"cross", "CROSS", typeFunc},
	kwCube:             {"cube", "CUBE", free},
	kwCurrent:          {"current", "CURRENT", free},
	kwCurrentCatalog:   {"current_catalog", "CURRENT_CATALOG", reserved},
	kwCurrentDate:      {"current_date", "CURRENT_DATE", reserved},
	kwCurrentRole:      {"current_role", "CURRENT_ROLE", reserved},
	kwCurrentSchema:    {"current_schema", "CURRENT_SCHEMA", typeFunc},
	kwCurrentTime:      {"current_time", "CURRENT_TIME", reserved},
	kwCurrentTimestamp: {"current_timestamp", "CURRENT_TIMESTAMP", reserved},
	kwCurrentUser:      {"current_user", "CURRENT_USER", reserved},
	kwData:             {"data", "DATA", free},
	kwDatabase:         {"database", "DATABASE", free},
	kwDatabases:        {"databases", "DATABASES", free},
	kwDeallocate:       {"deallocate", "DEALLOCATE", free},
	kwDeclare:          {"declare", "DECLARE", free},
	kwDefault:          {"default", "DEFAULT", reserved},
	kwDeferrable:       {"deferrable", "DEFERRABLE", reserved},
	kwDelete:           {"delete", "DELETE", free},
	kwDesc:             {"desc", "DESC", reserved},
	kwDescribe:         {"describe", "DESCRIBE", free},
	kwDetach:           {"detach", "DETACH", free},
	kwDistinct:         {"distinct", "DISTINCT", reserved},
	kwDo:               {"do", "DO", reserved},
	kwDouble:           {"double", "DOUBLE", free},
	kwDrop:             {"drop", "DROP", free},
	kwElse:             {"else", "ELSE", reserved},
	kwEnd:              {"end", "END", reserved},
	kwEscape:           {"escape", "ESCAPE", free},
	kwExcept:           {"except", "EXCEPT", reserved},
	kwExclude:          {"exclude", "EXCLUDE", free},
	kwExecute:          {"execute", "EXECUTE", free},
	kwExists:           {"exists", "EXISTS", free},
	kwExplain:          {"explain", "EXPLAIN", free},
	kwExport:           {"export", "EXPORT", free},
	kwExternal:         {"external", "EXTERNAL", free},
	kwExtract:          {"extract", "EXTRACT", free},
	kwFalse:            {"false", "FALSE", reserved},
	kwFetch:            {"fetch", "FETCH", reserved},
	kwFilter:           {"filter", "FILTER", needsAs},
	kwFirst:            {"first", "FIRST", free},
	kwFollowing:        {"following", "FOLLOWING", free},
	kwFor:              {"for", "FOR", reserved},
	kwForeign:          {"foreign", "FOREIGN", reserved},
	kwFormat:           {"format", "FORMAT", free},
	kwFreeze:           {"freeze", "FREEZE", typeFunc},
	kwFrom:             {"from", "FROM", reserved},
	kwFull:             {"full", "FULL", typeFunc},
	kwFunctions:        {"functions", "FUNCTIONS", free},
	kwGrant:            {"grant", "GRANT", reserved},
	kwGroup:            {"group", "GROUP", reserved},
	kwGrouping:         {"grouping", "GROUPING", free},
	kwGroups:           {"groups", "GROUPS", free},
	kwHaving:           {"having", "HAVING", reserved},
	kwIf:               {"if", "IF", free},
	kwIgnore:           {"ignore", "IGNORE", free},
	kwIlike:            {"ilike", "ILIKE", typeFunc},
	kwImport:           {"import", "IMPORT", free},
	kwIn:               {"in", "IN", reserved},
	kwIndex:            {"index", "INDEX", free},
	kwInitially:        {"initially", "INITIALLY", reserved},
	kwInner:            {"inner", "INNER", typeFunc},
	kwInsert:           {"insert", "INSERT", free},
	kwInstall:          {"install", "INSTALL", free},
	kwIntersect:        {"intersect", "INTERSECT", reserved},
	kwInterval:         {"interval", "INTERVAL", free},
	kwInto:             {"into", "INTO", reserved},
	kwIs:               {"is", "IS", typeFunc},
	kwIsnull:           {"isnull", "ISNULL", typeFunc},
	kwIsolation:        {"isolation", "ISOLATION", free},
	kwJoin:             {"join", "JOIN", typeFunc},
	kwKey:              {"key", "KEY", free},
	kwLast:             {"last", "LAST", free},
	kwLateral:          {"lateral", "LATERAL", reserved},
	kwLeading:          {"leading", "LEADING", reserved},
	kwLeft:             {"left", "LEFT", typeFunc},
	kwLevel:            {"level", "LEVEL", free},
	kwLike:             {"like", "LIKE", typeFunc},
	kwLimit:            {"limit", "LIMIT", reserved},
	kwListen:           {"listen", "LISTEN", free},
	kwLoad:             {"load", "LOAD", free},
	kwLocal:            {"local", "LOCAL", free},
	kwLocaltime:        {"localtime", "LOCALTIME", reserved},
	kwLocaltimestamp:   {"localtimestamp", "LOCALTIMESTAMP", reserved},
	kwLocation:         {"location", "LOCATION", free},
	kwLock:             {"lock", "LOCK", free},
	kwMap:              {"map", "MAP", free},
	kwMaterialized:     {"materialized", "MATERIALIZED", free},
	kwMerge:            {"merge", "MERGE", free},
	kwMove:             {"move", "MOVE", free},
	kwName:             {"name", "NAME", free},
	kwNational:         {"national", "NATIONAL", free},
	kwNatural:          {"natural", "NATURAL", typeFunc},
	kwNchar:            {"nchar", "NCHAR", free},
	kwNext:             {"next", "NEXT", free},
	kwNo:               {"no", "NO", free},
	kwNot:              {"not", "NOT", reserved},
	kwNotify:           {"notify", "NOTIFY", free},
	kwNotnull:          {"notnull", "NOTNULL", typeFunc},
	kwNull:             {"null", "NULL", reserved},
	kwNulls:            {"nulls", "NULLS", free},
	kwOffset:           {"offset", "OFFSET", reserved},
	kwOn:               {"on", "ON", reserved},
	kwOnly:             {"only", "ONLY", reserved},
	kwOptions:          {"options", "OPTIONS", free},
	kwOr:               {"or", "OR", reserved},
	kwOrder:            {"order", "ORDER", reserved},
	kwOrdinality:       {"ordinality", "ORDINALITY", free},
	kwOthers:           {"others", "OTHERS", free},
	kwOuter:            {"outer", "OUTER", typeFunc},
	kwOver:             {"over", "OVER", needsAs},
	kwOverlaps:         {"overlaps", "OVERLAPS", typeFunc},
	kwOverlay:          {"overlay", "OVERLAY", free},
	kwPartition:        {"partition", "PARTITION", free},
	kwPartitioned:      {"partitioned", "PARTITIONED", free},
	kwPivot:            {"pivot", "PIVOT", free},
	kwPlacing:          {"placing", "PLACING", reserved},
	kwPosition:         {"position", "POSITION", free},
	kwPositional:       {"positional", "POSITIONAL", free},
	kwPragma:           {"pragma", "PRAGMA", free},
	kwPreceding:        {"preceding", "PRECEDING", free},
	kwPrecision:        {"precision", "PRECISION", needsAs},
	kwPrepare:          {"prepare", "PREPARE", free},
	kwPrimary:          {"primary", "PRIMARY", reserved},
	kwQualify:          {"qualify", "QUALIFY", reserved},
	kwRange:            {"range", "RANGE", free},
	kwRead:             {"read", "READ", free},
	kwRecursive:        {"recursive", "RECURSIVE", free},
	kwReferences:       {"references", "REFERENCES", reserved},
	kwRefresh:          {"refresh", "REFRESH", free},
	kwReindex:          {"reindex", "REINDEX", free},
	kwRelease:          {"release", "RELEASE", free},
	kwRename:           {"rename", "RENAME", free},
	kwReplace:          {"replace", "REPLACE", free},
	kwReset:            {"reset", "RESET", free},
	kwRespect:          {"respect", "RESPECT", free},
	kwRestrict:         {"restrict", "RESTRICT", free},
	kwReturning:        {"returning", "RETURNING", reserved},
	kwRevoke:           {"revoke", "REVOKE", free},
	kwRight:            {"right", "RIGHT", typeFunc},
	kwRollback:         {"rollback", "ROLLBACK", free},
	kwRollup:           {"rollup", "ROLLUP", free},
	kwRow:              {"row", "ROW", free},
	kwRows:             {"rows", "ROWS", free},
	kwSavepoint:        {"savepoint", "SAVEPOINT", free},
	kwSchema:           {"schema", "SCHEMA", free},
	kwSchemas:          {"schemas", "SCHEMAS", free},
	kwSelect:           {"select", "SELECT", reserved},
	kwSemi:             {"semi", "SEMI", free},
	kwSequence:         {"sequence", "SEQUENCE", free},
	kwSession:          {"session", "SESSION", free},
	kwSessionUser:      {"session_user", "SESSION_USER", reserved},
	kwSet:              {"set", "SET", free},
	kwSets:             {"sets", "SETS", free},
	kwShow:             {"show", "SHOW", free},
	kwSimilar:          {"similar", "SIMILAR", typeFunc},
	kwSome:             {"some", "SOME", reserved},
	kwStart:            {"start", "START", free},
	kwStored:           {"stored", "STORED", free},
	kwStruct:           {"struct", "STRUCT", free},
	kwSubstring:        {"substring", "SUBSTRING", free},
	kwSummarize:        {"summarize", "SUMMARIZE", free},
	kwSymmetric:        {"symmetric", "SYMMETRIC", reserved},
	kwSystemUser:       {"system_user", "SYSTEM_USER", reserved},
	kwTable:            {"table", "TABLE", reserved},
	kwTables:           {"tables", "TABLES", free},
	kwTablesample:      {"tablesample", "TABLESAMPLE", typeFunc},
	kwTemp:             {"temp", "TEMP", free},
	kwTemporary:        {"temporary", "TEMPORARY", free},
	kwThen:             {"then", "THEN", reserved},
	kwTies:             {"ties", "TIES", free},
	kwTime:             {"time", "TIME", free},
	kwTimestamp:        {"timestamp", "TIMESTAMP", free},
	kwTo:               {"to", "TO", reserved},
	kwTrailing:         {"trailing", "TRAILING", reserved},
	kwTransaction:      {"transaction", "TRANSACTION", free},
	kwTrim:             {"trim", "TRIM", free},
	kwTrue:             {"true", "TRUE", reserved},
	kwTruncate:         {"truncate", "TRUNCATE", free},
	kwTryCast:          {"try_cast", "TRY_CAST", free},
	kwType:             {"type", "TYPE", free},
	kwUnbounded:        {"unbounded", "UNBOUNDED", free},
	kwUnion:            {"union", "UNION", reserved},
	kwUnique:           {"unique", "UNIQUE", reserved},
	kwUnknown:          {"unknown", "UNKNOWN", free},
	kwUnlisten:         {"unlisten", "UNLISTEN", free},
	kwUnpivot:          {"unpivot", "UNPIVOT", free},
	kwUnsigned:         {"unsigned", "UNSIGNED", free},
	kwUpdate:           {"update", "UPDATE", free},
	kwUse:              {"use", "USE", free},
	kwUser:             {"user", "USER", reserved},
	kwUsing:            {"using", "USING", reserved},
	kwVacuum:           {"vacuum", "VACUUM", free},
	kwValues:           {"values", "VALUES", free},
	kwVariadic:         {"variadic", "VARIADIC", reserved},
	kwVarying:          {"varying", "VARYING", needsAs},
	kwVerbose:          {"verbose", "VERBOSE", typeFunc},
	kwView:             {"view", "VIEW", free},
	kwViews:            {"views", "VIEWS", free},
	kwWhen:             {"when", "WHEN", reserved},
	kwWhere:            {"where", "WHERE", reserved},
	kwWindow:           {"window", "WINDOW", reserved},
	kwWith:             {"with", "WITH", reserved},
	kwWithin:           {"within", "WITHIN", needsAs},
	kwWithout:          {"without", "WITHOUT", needsAs},
	kwWork:             {"work", "WORK", free},
	kwWrite:            {"write", "WRITE", free},
	kwZone:             {"zone", "ZONE", free},
}
