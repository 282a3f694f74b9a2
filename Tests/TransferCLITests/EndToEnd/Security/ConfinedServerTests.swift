import Glibc
import Testing
import TransferTestSupport

/// The server drops unneeded rights before it accepts the first client. All other tests of the program show that it
/// still works.
@Suite(.ownThreads) struct ConfinedServerTests {
    @Test func noThreadCanGainPrivileges() throws {
        let server = try RunningServer()
        #expect(try server.push([photo]).end == .exited(0))
        let tasks = "/proc/\(try server.waitForWorker())/task"
        let threads = names(in: tasks)
        #expect(threads.count > 3)
        for thread in threads {
            let status = try String(decoding: readFile("\(tasks)/\(thread)/status"), as: UTF8.self)
            #expect(status.contains("\nNoNewPrivs:\t1\n"), "thread \(thread)")
        }
    }

    @Test func itSaysHowItIsConfined() throws {
        let server = try RunningServer()
        let lines = server.program.errorText.split(separator: "\n")
        #expect(
            lines.filter { $0.contains("confine this process to ") || $0.contains("confines this process to ") }.count
                == 1)
        let listening = try #require(lines.firstIndex { $0.contains(" listening on ") })
        let confined = try #require(lines.firstIndex { $0.contains("confine") })
        #expect(confined < listening, "before anybody can connect")
    }

    /// The socket is in another directory, where the server may do nothing but remove it.
    @Test func aUnixSocketGoesWhenTheServerStops() throws {
        let home = try TemporaryDirectory()
        try makeDirectory(home.path("sockets"))
        let path = home.path("sockets/socket")
        let server = try RunningServer(["--listen", "unix:\(path)"])
        try server.program.waitForError("listening on unix:")
        #expect(try Finished(["push", "--plaintext", photo, "--to", "unix:\(path)"]).end == .exited(0))
        server.program.signal(SIGTERM)
        #expect(try server.program.wait() == .exited(0))
        #expect(names(in: home.path("sockets")) == [])
    }
}
