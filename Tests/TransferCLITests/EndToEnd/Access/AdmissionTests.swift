import Glibc
import Testing
import TransferTestSupport

/// Clients that a server admits by their keys, as the clients see it.
@Suite(.ownThreads) struct AdmissionTests {
    private let server: SecureServer

    init() throws {
        server = try SecureServer(user: "owner")
        #expect(try server.trust(["add", server.address, server.fingerprint]).end == .exited(0))
    }

    @Test func anotherUserIsToldWhatToDo() throws {
        let push = try server.push()
        #expect(push.end == .exited(4))
        #expect(push.errors.contains("To let it in, run there: transfer access add 'ed25519 "), "\(push.errors)")
        #expect(server.storedFiles.isEmpty)
        // The same server admits its owner.
        #expect(try server.push(user: "owner").end == .exited(0))
    }

    @Test func nothingIsRestarted() throws {
        #expect(try server.push().end == .exited(4))
        _ = try server.access(["add", server.key()])
        let push = try server.push()
        #expect(push.end == .exited(0), "\(push.errors)")
        let name = try #require(server.access(["list"]).output.split(separator: " ").first)
        _ = try server.access(["remove", String(name)])
        #expect(try server.push().end == .exited(4))
    }

    /// The client sees its folder as the top, and no sign of other folders.
    @Test func aClientSeesItsFolderOnly() throws {
        _ = try server.access(["add", "--folder", "in/camera", server.key()])
        let push = try server.push(["--json"])
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(try push.object()["storedPath"] == "note")
        #expect(server.storedFiles == ["in/camera/note"])
        let below = try server.push(["--json"], to: server.address + "/a")
        #expect(try below.object()["storedPath"] == "a/note")
        #expect(server.storedFiles == ["in/camera/a/note", "in/camera/note"])
        let other = try server.push(["--json"], to: server.address + "/../..")
        #expect(other.end == .exited(1))
        // Another client's file of that name is in another folder, so the owner's push does not conflict.
        #expect(try server.push(["--json"], user: "owner").object()["storedPath"] == "note")
    }

    @Test func whoMayOnlyReadMayNotPush() throws {
        _ = try server.access(["add", "--read-only", server.key()])
        let push = try server.push()
        #expect(push.end == .exited(4) && push.errors.contains("forbidden"), "\(push.errors)")
        #expect(server.storedFiles.isEmpty)
    }

    /// The access is removed in the middle of a stream, whose blocks are separate uploads to the server.
    @Test func whoIsRemovedIsDropped() throws {
        _ = try server.access(["add", server.key()])
        var surroundings = server.surroundings()
        surroundings.input = .pipe
        let push = try Program(["push", "-", "--name", "stream", "--to", server.address], surroundings)
        let block = randomBytes(4 << 20, seed: 5)
        for _ in 0..<2 { try push.write(block) }
        try server.program.waitForError("started stream")
        let name = try #require(server.access(["list"]).output.split(separator: " ").first)
        _ = try server.access(["remove", String(name)])
        // The push may end before it has read all input.
        for _ in 0..<8 { try? push.write(block) }
        push.closeInput()
        #expect(try push.wait() == .exited(4))
        #expect(push.errorText.contains("The access of this client was revoked."), "\(push.errorText)")
        #expect(server.storedFiles.isEmpty)
    }
}
