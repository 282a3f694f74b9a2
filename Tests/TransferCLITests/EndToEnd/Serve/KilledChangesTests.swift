import Glibc
import Testing
import TransferTestSupport

/// After a server is killed while it moves files, the catalog has every file under its current path.
@Suite(.ownThreads) struct KilledChangesTests {
    private static let count = 300

    private func name(_ number: Int, isRenamed: Bool = false) -> String { "t/\(isRenamed ? "new" : "old")-\(number)" }

    /// All files were renamed on the client, and the server is killed when the first file on it has its new name.
    @Test(arguments: [false, true]) func aServerThatIsKilledWhileItRenames(verifiesFirst: Bool) throws {
        let here = try TemporaryDirectory()
        try makeDirectory(here.path("t"))
        for number in 0..<Self.count { try writeFile(here.path(name(number)), Array("content \(number)".utf8)) }
        var server = try RunningServer()
        #expect(try Finished(sync(here, server)).end == .exited(0))
        for number in 0..<Self.count {
            #expect(rename(here.path(name(number)), here.path(name(number, isRenamed: true))) == 0)
        }
        let worker = try #require(server.worker)
        let running = try sync(here, server)
        let first = (0..<Self.count).map { "\(server.directory)/\(name($0, isRenamed: true))" }
        while !first.contains(where: { access($0, F_OK) == 0 }) { sched_yield() }
        kill(worker, SIGKILL)
        running.signal(SIGKILL)
        _ = try running.wait()
        server.program.signal(SIGKILL)
        _ = try server.program.wait()
        if verifiesFirst { try verify(server) }
        server = try RunningServer(in: server.home)
        try verify(server)
        #expect(try Finished(sync(here, server)).end == .exited(0))
        try verify(server)
        #expect(server.visibleFiles.count == Self.count && server.visibleFiles.allSatisfy { $0.hasPrefix("t/new-") })
    }

    private func sync(_ here: TemporaryDirectory, _ server: RunningServer) throws -> Program {
        try Program(["sync", here.path("t") + "/", "\(server.address):/t", "--delete", "--plaintext"])
    }

    private func verify(_ server: RunningServer) throws {
        let verified = try Finished(["verify", "--dir", server.directory])
        #expect(verified.end == .exited(0), "\(verified.output)\(verified.errors)")
    }
}
