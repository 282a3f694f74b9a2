import Glibc
import Testing
import TransferProtocol
import TransferTestSupport

@Suite(.ownThreads) struct ShutdownTests {
    @Test(arguments: [SIGTERM, SIGINT]) func anIdleServerEndsAtOnce(_ signal: Int32) throws {
        let server = try RunningServer()
        #expect(try server.push([photo]).end == .exited(0))
        let idle = try PeerConnection(to: server.address)
        try idle.send(.hello(Hello(agent: "idle")))
        server.program.signal(signal)
        let farewell = try idle.next { if case .goodbye(let farewell) = $0 { farewell } else { nil } }
        #expect(farewell.code == .shuttingDown)
        idle.close()
        #expect(try server.program.wait() == .exited(0))
        #expect(server.program.errorText.hasSuffix(" info stopped\n"))
    }

    @Test(arguments: [SIGTERM, SIGINT]) func aRunningUploadFinishes(_ signal: Int32) throws {
        let server = try RunningServer()
        let push = try startUpload(server)
        server.program.signal(signal)
        try server.program.waitForError("stopping; 1 connections are open")
        // Nobody else gets in any more.
        #expect(try server.push([photo]).end == .exited(3))
        try push.write(randomBytes(5 << 20, seed: 2))
        push.closeInput()
        let finished = try Finished(push)
        #expect(finished.end == .exited(0), "\(finished.errors)")
        #expect(finished.output.hasPrefix("committed  held  6.3 MB  xxh128-tree-4m:"), "\(finished.output)")
        #expect(try server.program.wait() == .exited(0))
        #expect(try server.stored("held") == randomBytes(1 << 20, seed: 1) + randomBytes(5 << 20, seed: 2))
    }

    @Test func aSecondSignalEndsRunningUploads() throws {
        let server = try RunningServer()
        let push = try startUpload(server)
        server.program.signal(SIGTERM)
        try server.program.waitForError("stopping; ")
        server.program.signal(SIGINT)
        try expectLost(server, push)
    }

    @Test func theGracePeriodEndsRunningUploads() throws {
        let server = try RunningServer(["--drain-timeout", "1ms"])
        let push = try startUpload(server)
        server.program.signal(SIGTERM)
        try expectLost(server, push)
    }

    private func expectLost(_ server: RunningServer, _ push: Program) throws {
        #expect(try server.program.wait() == .exited(0))
        #expect(server.program.errorText.contains("connection lost inside held after "))
        push.closeInput()
        let finished = try Finished(push)
        #expect(finished.end == .exited(3), "\(finished.errors)")
        #expect(finished.errors.contains("connectionLost  held: "), "\(finished.errors)")
        #expect(finished.output == "")
        #expect(filesBesideCatalog(below: server.directory) == [".transfer/lock"])
    }

    /// A push whose end the test holds in its hands; 1 MiB of it is written.
    private func startUpload(_ server: RunningServer) throws -> Program {
        let push = try server.startPush(["-", "--name", "held", "--retry-for", "0"], Surroundings(input: .pipe))
        try push.write(randomBytes(1 << 20, seed: 1))
        try server.program.waitForError("begun held, ")
        return push
    }
}
