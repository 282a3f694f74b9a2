import Testing
import TransferTestSupport

@Suite(.ownThreads) struct ConflictTests {
    struct Case: CustomTestStringConvertible {
        let policy: String
        let end: Program.End
        let result: String
        let storedPath: String
        let summary: String
        /// The expected contents of `note.txt` and the file beside it.
        let stored: [String: String]

        var testDescription: String { policy }
    }

    static let cases = [
        Case(
            policy: "keep-both", end: .exited(0), result: "committed", storedPath: "note-1.txt", summary: "1 stored",
            stored: ["note.txt": "old", "note-1.txt": "new"]),
        Case(
            policy: "overwrite", end: .exited(0), result: "committed", storedPath: "note.txt", summary: "1 stored",
            stored: ["note.txt": "new"]),
        Case(
            policy: "skip", end: .exited(0), result: "skipped", storedPath: "null", summary: "0 stored",
            stored: ["note.txt": "old"]),
        Case(
            policy: "fail", end: .exited(1), result: "pathConflict", storedPath: "null", summary: "0 stored",
            stored: ["note.txt": "old"]),
    ]

    @Test(arguments: cases) func otherContentUnderTheName(_ test: Case) throws {
        let server = try RunningServer()
        #expect(try server.push(["--text", "old", "--name", "note.txt"]).end == .exited(0))
        let push = try server.push(["--text", "new", "--name", "note.txt", "--on-conflict", test.policy, "--json"])
        #expect(push.end == test.end)
        let object = try push.object()
        #expect(object["result"] == test.result && object["storedPath"] == test.storedPath)
        #expect(push.errors.hasPrefix(test.summary), "\(push.errors)")
        let isReplacing = test.policy == "overwrite"
        #expect(object["replaced"] == "\(isReplacing)")
        #expect(push.errors.contains(", 1 replaced") == isReplacing, "\(push.errors)")
        #expect(server.visibleFiles == test.stored.keys.sorted())
        for (path, content) in test.stored { #expect(try server.stored(path) == Array(content.utf8)) }
    }

    @Test func whatIsReplacedStandsInTheLine() throws {
        let server = try RunningServer()
        for (text, isTold) in [("old", false), ("new", true), ("new", false)] {
            let push = try server.push(["--text", text, "--name", "note.txt", "--on-conflict", "overwrite", "-v"])
            #expect(push.end == .exited(0))
            #expect(push.output.contains("note.txt  in place of other content  3 B") == isTold, "\(push.output)")
        }
    }

    @Test(arguments: cases) func theSameContentIsNoConflict(_ test: Case) throws {
        let server = try RunningServer()
        for expected in ["committed", test.policy == "skip" ? "skipped" : "alreadyStored"] {
            let push = try server.push(["--text", "a", "--name", "b", "--on-conflict", test.policy, "--json"])
            #expect(push.end == .exited(0))
            #expect(try push.object()["result"] == expected)
        }
        #expect(server.visibleFiles == ["b"])
    }
}
