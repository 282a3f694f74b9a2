import Glibc
import Testing
import TransferTestSupport

/// Two servers of one directory: one serves, and the other waits for it to end.
@Suite(.ownThreads) struct WaitForLockTests {
    private let home: TemporaryDirectory

    init() throws { home = try TemporaryDirectory() }

    private func start(_ flags: [String] = [], at address: String = "127.0.0.1:0") throws -> Program {
        try Program(
            ["serve", "--dir", home.path("stored"), "--listen", address, "--plaintext", "--wait-for-lock"] + flags)
    }

    private func push(_ name: String, to address: String) throws -> Finished {
        try Finished(["push", "--text", "hello", "--name", name, "--plaintext", "--json", "--to", address])
    }

    @Test(arguments: [["--no-supervise"], []], [SIGKILL, SIGTERM])
    func theSecondTakesOver(flags: [String], signal: Int32) throws {
        let state = ["--state-dir", home.path("state")]
        let first = try start(flags + state)
        let address = try RunningServer.address(first)
        #expect(try push("a", to: address).end == .exited(0))
        // The second server does not bind the address while it waits, because the first server uses it.
        let second = try start(flags + state, at: address)
        try second.waitForError("waiting for the lock of \(home.path("stored")), which process \(first.process) on ")
        first.signal(signal)
        _ = try first.wait()
        #expect(try RunningServer.address(second) == address)
        // The second server knows the uploads that the first one has acknowledged.
        #expect(try push("a", to: address).output.contains("\"alreadyStored\""))
        #expect(try push("b", to: address).end == .exited(0))
        second.signal(SIGTERM)
        #expect(try second.wait() == .exited(0))
        #expect(access(home.path("state/catalog.sqlite"), F_OK) == 0)
        #expect(access(home.path("stored/.transfer/catalog.sqlite"), F_OK) != 0)
    }

    /// Another process of the first server has the address for a moment longer than the lock.
    @Test(arguments: [["--no-supervise"], []]) func theAddressMayBecomeFreeLater(flags: [String]) throws {
        let first = try start()
        _ = try RunningServer.address(first)
        let other = try FakeServer()
        let second = try start(flags, at: other.address)
        try second.waitForError("waiting for the lock")
        first.signal(SIGKILL)
        _ = try first.wait()
        try second.waitForError("waiting for the address \(other.address), which is still in use")
        other.close()
        #expect(try RunningServer.address(second) == other.address)
        #expect(try push("a", to: other.address).end == .exited(0))
        second.signal(SIGTERM)
        #expect(try second.wait() == .exited(0))
    }

    @Test(arguments: [["--no-supervise"], []], [SIGTERM, SIGINT]) func waitingEnds(flags: [String], signal: Int32)
        throws
    {
        let first = try start()
        _ = try RunningServer.address(first)
        let second = try start(flags)
        try second.waitForError("waiting for the lock")
        second.signal(SIGHUP)
        second.signal(signal)
        #expect(try second.wait() == .exited(0))
    }

    /// The worker dies, and the waiting server does not take over the directory in between.
    @Test func aWorkerThatDiesKeepsTheDirectory() throws {
        let first = try start()
        let address = try RunningServer.address(first)
        let second = try start()
        try second.waitForError("waiting for the lock")
        let worker = try first.waitForWorker()
        kill(worker, SIGSEGV)
        _ = try first.waitForWorker(after: worker)
        #expect(try push("a", to: address).end == .exited(0))
        second.signal(SIGTERM)
        let finished = try Finished(second)
        #expect(finished.end == .exited(0) && !finished.errors.contains("listening"))
    }

    /// Another server has the directory, for example because a network file system has dropped the lock of this
    /// machine.
    @Test(arguments: [["--no-supervise"], []]) func aServerThatHasLostTheDirectoryEnds(flags: [String]) throws {
        let server = try start(flags)
        let address = try RunningServer.address(server)
        #expect(try push("a", to: address).end == .exited(0))
        try writeFile(home.path("stored/.transfer/lock"), Array("another 1 run 2\n".utf8))
        let finished = try Finished(server)
        #expect(finished.end == .exited(1))
        #expect(finished.errors.contains("another server has taken over \(home.path("stored"))"))
    }

    @Test func socketsAreNotHandedOver() throws {
        var shell = Surroundings()
        let program = try Spawner.executable()
        shell.executable = "/bin/sh"
        let script = "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" serve --dir \"$1\" --plaintext --wait-for-lock"
        let finished = try Finished(["-c", script, program, home.path("stored")], shell)
        #expect(
            finished.end == .exited(5) && finished.errors.contains("cannot be used with sockets"),
            "\(finished.errors)")
    }
}
