import Testing
import TransferTestSupport

@Suite(.ownThreads) struct ManifestPushTests {
    @Test func namesKindsAndFolders() throws {
        let server = try RunningServer()
        let files = try BatchFiles(["a.txt", "in/b", "in/c"])
        let lines = [
            #"{"path":"a.txt","name":"first.txt","folder":"x/y","kind":"file"}"#, "",
            #"{"path":"in","folder":"z"}"#, #"{"path":"a.txt"}"#,
        ]
        try writeFile(files.home.path("batch.jsonl"), lines.joined(separator: "\n").utf8)
        let push = try files.push(server, to: "/f", "--manifest", "batch.jsonl", "--json")
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(server.visibleFiles == ["f/a.txt", "f/x/y/first.txt", "f/z/in/b", "f/z/in/c"])
        let kinds = Dictionary(uniqueKeysWithValues: try push.objects().map { ($0["storedPath"], $0["kind"]) })
        #expect(kinds["f/x/y/first.txt"] == "file" && kinds["f/a.txt"] == "text")
    }

    @Test func whatFailedIsAManifestAgain() throws {
        let server = try RunningServer()
        let files = try BatchFiles(["a"])
        let lines = [#"{"path":"gone","name":"n","folder":"x","kind":"audio"}"#, #"{"path":"a"}"#]
        try writeFile(files.home.path("batch.jsonl"), lines.joined(separator: "\n").utf8)
        let first = try files.push(server, to: "/f", "--manifest", "batch.jsonl", "--failed-to", "failed")
        #expect(first.end == .exited(1))
        #expect(try files.text("failed") == #"{"path":"gone","name":"x/n","kind":"audio"}"# + "\n")
        try files.add("gone")
        let second = try files.push(server, to: "/f", "--manifest", "failed", "--json")
        #expect(second.end == .exited(0), "\(second.errors)")
        #expect(try second.object()["kind"] == "audio")
        #expect(server.visibleFiles == ["f/a", "f/x/n"])
    }

    /// One invalid line stops the whole manifest before anything is sent.
    @Test func aWrongLineIsNamed() throws {
        let server = try RunningServer()
        let files = try BatchFiles(["a"])
        let lines = [#"{"path":"a"}"#, #"{"pth":"a"}"#, #"{"path":"a""#]
        try writeFile(files.home.path("batch.jsonl"), lines.joined(separator: "\n").utf8)
        let push = try files.push(server, "--manifest", "batch.jsonl")
        #expect(push.end == .exited(2))
        let message = "batch.jsonl, line 2: unknown member 'pth'; did you mean 'path'?; 1 more line is wrong"
        #expect(push.errors == "transfer: \(message)\nTry 'transfer help push'.\n")
        #expect(server.visibleFiles.isEmpty)
    }
}
