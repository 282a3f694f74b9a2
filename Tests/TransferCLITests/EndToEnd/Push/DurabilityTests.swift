import Testing
import TransferTestSupport

@Suite(.ownThreads) struct DurabilityTests {
    @Test(arguments: [([], "true"), (["--durability", "commit"], "true"), (["--durability", "none"], "false")])
    func isWhatResultsSay(flags: [String], durable: String) throws {
        let server = try RunningServer(flags)
        for result in ["committed", "alreadyStored"] {
            let object = try server.push([photo, "--json"]).object()
            #expect(object["result"] == result && object["durable"] == durable)
        }
        #expect(try server.stored("demo.png") == readFile(photo))
    }

    @Test(arguments: [("commit", "true"), ("none", "false")]) func isWhatTheLogSays(mode: String, durable: String)
        throws
    {
        let home = try TemporaryDirectory()
        let server = try Program([
            "serve", "--dir", home.path("in"), "--listen", "127.0.0.1:0", "--log-format", "json", "--durability", mode,
            "--plaintext",
        ])
        let log = try server.waitForError("\"event\":\"listening\"") { $0.hasSuffix("\n") }
        let listening = try #require(log.split(separator: "\n").last)
        let address = try #require(JSONObject(listening)["address"])
        #expect(try Finished(["push", photo, "--plaintext", "--to", address]).end == .exited(0))
        let stored = try server.waitForError("\"event\":\"stored\"") { $0.hasSuffix("\n") }
        let line = try #require(stored.split(separator: "\n").last)
        #expect(try JSONObject(line)["durable"] == durable)
    }

    @Test func anythingElseIsAMistake() throws {
        let finished = try Finished(["serve", "--durability", "maybe"])
        #expect(finished.end == .exited(2))
        #expect(finished.errors.contains("--durability") && finished.errors.contains("none"))
    }
}
