import Testing
import TransferTestSupport

/// `transfer push --classic` to a server with the same framing.
@Suite(.ownThreads) struct ClassicPushTests {
    /// A server with a Unix socket for a classic framing.
    private static func serving(_ framing: String, _ options: String = "") throws -> (RunningServer, to: String) {
        let home = try TemporaryDirectory()
        let socket = "unix:\(home.path("s"))"
        return (try RunningServer(["--classic", "\(framing)=\(socket)\(options)"], in: home), socket)
    }

    @Test func sizedIsNotVerified() throws {
        let (server, socket) = try Self.serving("sized")
        let push = try Finished(["push", "--classic", "sized", "--to", socket, "--json", photo, "--text", "hello"])
        #expect(push.end == .exited(0), "\(push.errors)")
        let objects = try push.objects()
        #expect(objects.map { $0["result"] } == ["stored", "stored"])
        #expect(objects.allSatisfy { $0.keys == PushTests.keys })
        #expect(
            objects.allSatisfy { $0["verified"] == "false" && $0["durable"] == "false" && $0["storedPath"] == "null" })
        #expect(server.visibleFiles.count == 2)
        let people = try Finished(["push", "--classic", "sized", "--to", socket, photo])
        #expect(people.output.contains("verified: no"), "\(people.output)")
    }

    @Test(arguments: ["header7", "tagged37"]) func messagesAreVerified(_ framing: String) throws {
        let (server, socket) = try Self.serving(framing)
        let push = try Finished(["push", "--classic", framing, "--to", socket, "--json", photo])
        #expect(push.end == .exited(0), "\(push.errors)")
        let object = try #require(try push.objects().first)
        #expect(object["result"] == "committed" && object["verified"] == "true" && object["durable"] == "false")
        #expect(server.visibleFiles == ["demo.png"])
    }

    /// The exit status tells scripts that no server has acknowledged the upload.
    @Test func withoutAnAcknowledgement() throws {
        let (server, socket) = try Self.serving("sized", ",answer=no")
        let push = try Finished(["push", "--classic", "sized,answer=no", "--to", socket, photo])
        #expect(push.end == .exited(6), "\(push.errors)")
        #expect(push.errors.contains("Sent, not acknowledged"), "\(push.errors)")
        #expect(push.errors.hasSuffix(", 1 sent and not acknowledged\n"), "\(push.errors)")
        #expect(server.visibleFiles.count == 1)
    }

    @Test(arguments: [
        (["--classic", "sized"], "--classic needs --to HOST:PORT"),
        (["--classic", "text", "--to", "localhost"], "push supports only header7, sized, tagged37, jsonline"),
        (["--classic", "header7", "--to", "localhost"], "give HOST:PORT or unix:PATH"),
        (["--classic", "sized", "--to", "localhost/folder"], "without a folder"),
        (["--classic", "sized,total=half", "--to", "localhost"], "whole or content"),
        (["--classic", "sized,total", "--to", "localhost"], "not of the form OPTION=VALUE"),
        (["--classic", "sized", "--to", "192.0.2.1"], "push with --plaintext"),
        (["--classic", "sized", "--to", "localhost", "--lanes", "2"], "--lanes cannot be used with --classic"),
        (["--classic", "sized", "--to", "localhost", "--delete-source"], "--delete-source cannot be used"),
        (["--classic", "sized", "--to", "localhost", "--receipts", "r"], "--receipts cannot be used"),
        (["--classic", "sized", "--to", "localhost", "--trust-new"], "--trust-new cannot be used"),
        (["--classic", "sized", "--to", "localhost", "--on-conflict", "skip"], "--on-conflict cannot be used"),
        (["--classic", "sized", "--to", "localhost", "--compress", "zlib"], "has no compression"),
        (["--classic", "header7", "--to", "localhost:1", "--compress", "zstd"], "--compress zstd cannot be used"),
        (["--classic", "sized", "--to", "localhost", "--for", "bob"], "--for needs --classic jsonline"),
        (["--classic", "jsonline", "--to", "localhost"], "needs --for NAME"),
    ])
    func whatContradicts(_ arguments: [String], _ message: String) throws {
        let finished = try Finished(["push", photo] + arguments)
        #expect(finished.end == .exited(2) && finished.output == "")
        #expect(finished.errors.contains(message), "\(finished.errors)")
    }
}
