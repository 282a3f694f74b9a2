import Glibc
import Testing
import TransferTestSupport

/// The real server on a disk that loses written data: after an acknowledgement, the content must be on the medium.
/// Where mounting is not allowed, or a file system cannot be made, a line says so.
@Suite(.ownThreads) struct FailingDiskTests {
    /// The server that takes the second attempt.
    enum Retry: CaseIterable {
        case sameServer
        case restartedServer
    }

    /// After the first attempt the page cache has the whole file, and a second sync of it succeeds.
    @Test(arguments: FailingDisk.Kind.allCases, Retry.allCases)
    func whatAFailedSyncHasLostIsSentAgain(kind: FailingDisk.Kind, retry: Retry) throws {
        let temporary = try TemporaryDirectory()
        guard let disk = try FailingDisk(kind, in: temporary) else { return }
        let content = randomBytes(20_000_000, seed: 15)
        let source = temporary.path("big")
        try writeFile(source, content)
        var server = try FailingDiskServer(on: disk)
        let first = try server.push(source, "--delete-source")
        #expect(first.end == .exited(1) && first.errors.contains("1 insufficientStorage"), "\(first.errors)")
        #expect(try readFile(source) == content)
        #expect(disk.mend())
        if retry == .restartedServer {
            try server.kill()
            server = try FailingDiskServer(on: disk)
            #expect(server.program.errorText.contains("does not count as stored"), "\(server.program.errorText)")
        }
        let second = try server.push(source, "--delete-source")
        #expect(second.end == .exited(0) && second.output.hasPrefix("committed"), "\(second.errors)")
        #expect(access(source, F_OK) != 0)
        try server.kill()
        #expect(disk.remount())
        #expect(try readFile("\(disk.path)/stored/big") == content)
        #expect(files(below: "\(disk.path)/stored/.transfer/incoming").isEmpty)
    }

    /// The server dies during a sync, before it can record the outcome.
    @Test(arguments: FailingDisk.Kind.allCases) func aServerThatIsKilledInTheSync(kind: FailingDisk.Kind) throws {
        let temporary = try TemporaryDirectory()
        guard let disk = try FailingDisk(kind, in: temporary) else { return }
        let content = randomBytes(20_000_000, seed: 16)
        let source = temporary.path("big")
        try writeFile(source, content)
        let killed = try FailingDiskServer(on: disk)
        let push = try Program(["push", source, "--plaintext", "--to", killed.address])
        try killed.program.waitForError("started big")
        try killed.waitForSync()
        try killed.kill()
        push.signal(SIGKILL)
        _ = try push.wait()
        #expect(disk.mend())
        let server = try FailingDiskServer(on: disk)
        let second = try server.push(source)
        #expect(second.end == .exited(0), "\(second.errors)")
        try server.kill()
        #expect(disk.remount())
        #expect(try readFile("\(disk.path)/stored/big") == content)
    }
}

/// `transfer serve` on a failing disk.
private struct FailingDiskServer {
    let program: Program
    let address: String
    private let own: String

    init(on disk: FailingDisk) throws {
        own = disk.path + "/stored/.transfer"
        program = try Program(["serve", "--dir", disk.path + "/stored", "--listen", "127.0.0.1:0", "--plaintext"])
        address = try RunningServer.address(program)
    }

    func push(_ arguments: String...) throws -> Finished {
        try Finished(["push"] + arguments + ["--plaintext", "--to", address])
    }

    /// Waits until a sync is running or has failed.
    func waitForSync() throws {
        for _ in 0..<10_000_000 {
            if names(in: own).contains(where: { $0.hasPrefix("sync-running-") }) { return }
            sched_yield()
        }
        throw Program.Failure(description: "nothing was synced")
    }

    func kill() throws {
        program.signal(SIGKILL)
        _ = try program.wait()
    }
}
