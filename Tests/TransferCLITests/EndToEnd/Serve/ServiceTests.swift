import Glibc
import Testing
import TransferTestSupport

/// The server under a service manager.
@Suite(.ownThreads) struct ServiceTests {
    private func surroundings(_ manager: NotificationSocket, _ more: [String: String] = [:]) -> Surroundings {
        var surroundings = Surroundings()
        surroundings.environment["NOTIFY_SOCKET"] = manager.name
        surroundings.environment.merge(more) { $1 }
        return surroundings
    }

    /// A confined server could not connect to a socket whose file has been removed.
    @Test func theManagerIsTold() throws {
        let home = try TemporaryDirectory()
        for name in [home.path("notify"), "@transfer-service-\(getpid())"] {
            let manager = try NotificationSocket(name)
            let server = try RunningServer([], surroundings(manager))
            #expect(try manager.next() == ["READY=1", "STATUS=Listening on \(server.address)"])
            #expect(try server.push([photo]).end == .exited(0))
            server.program.signal(SIGTERM)
            #expect(try manager.next().first == "STOPPING=1")
            #expect(try server.program.wait() == .exited(0))
        }
    }

    @Test func theWatchdogIsCalmed() throws {
        let home = try TemporaryDirectory()
        let manager = try NotificationSocket(home.path("notify"))
        let server = try RunningServer([], surroundings(manager, ["WATCHDOG_USEC": "20000"]))
        for _ in 0..<3 { _ = try manager.wait(for: "WATCHDOG=1") }
        server.program.signal(SIGTERM)
        #expect(try server.program.wait() == .exited(0))
    }

    /// A server that waits for another one serves no clients, and the watchdog does not end it.
    @Test func aServerThatWaitsIsReadyAndCalmsTheWatchdog() throws {
        let home = try TemporaryDirectory()
        let first = try RunningServer()
        let manager = try NotificationSocket(home.path("notify"))
        let second = try Program(
            ["serve", "--dir", first.directory, "--listen", "127.0.0.1:0", "--plaintext", "--wait-for-lock"],
            surroundings(manager, ["WATCHDOG_USEC": "2000000"]))
        #expect(try manager.next() == ["READY=1", "STATUS=Waiting for the lock of \(first.directory)"])
        for _ in 0..<2 { _ = try manager.wait(for: "WATCHDOG=1") }
        second.signal(SIGTERM)
        #expect(try second.wait() == .exited(0))
    }

    @Test func aManagerThatCannotBeReached() throws {
        var surroundings = Surroundings()
        surroundings.environment["NOTIFY_SOCKET"] = "/nonexistent/notify"
        let home = try TemporaryDirectory()
        let serve = try Finished(["serve", "--dir", home.path("in"), "--listen", "127.0.0.1:0"], surroundings)
        #expect(serve.end == .exited(5))
        #expect(
            serve.errors.hasSuffix(
                "transfer: Cannot reach the service manager, which NOTIFY_SOCKET names: No such file or directory.\n"),
            "\(serve.errors)")
    }
}
