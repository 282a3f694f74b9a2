internal import CLinux
import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferIO

struct ControlSocketTests {
    private let home: TemporaryDirectory

    init() throws {
        home = try TemporaryDirectory()
    }

    private func bound() throws -> ControlSocket {
        let path = home.path
        let folder = Descriptor(try system("open") { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
        return try ControlSocket("control", in: folder.number)
    }

    private func errno(_ body: () throws -> Void) -> Int32? {
        do {
            try body()
            return nil
        } catch {
            return (error as? SystemError)?.errno
        }
    }

    @Test func tellsWhoeverAsks() throws {
        let socket = try bound()
        defer { socket.close() }
        let asked = Locked(0)
        try socket.serve {
            let number = asked.withLock { count in
                count += 1
                return count
            }
            return "answer \(number)"
        }
        for number in 1...3 {
            #expect(try ControlSocket.read("control", in: home.path) == Array("answer \(number)".utf8))
        }
        var status = stat()
        #expect(lstat(home.path("control"), &status) == 0)
        #expect(status.st_mode == S_IFSOCK | 0o600)
    }

    /// The answer does not fit into the socket's buffer.
    @Test func aLongAnswer() throws {
        let socket = try bound()
        defer { socket.close() }
        let text = String(repeating: "0123456789", count: 1 << 19)
        try socket.serve { text }
        #expect(try ControlSocket.read("control", in: home.path) == Array(text.utf8))
    }

    @Test func aStaleOneIsReplaced() throws {
        // The socket is not closed, as after the death of the process.
        do { _ = try bound() }
        #expect(access(home.path("control"), F_OK) == 0)
        let again = try bound()
        defer { again.close() }
        try again.serve { "new" }
        #expect(try ControlSocket.read("control", in: home.path) == Array("new".utf8))
    }

    @Test func nobodyIsThere() throws {
        #expect(errno { _ = try ControlSocket.read("control", in: home.path) } == ENOENT)
        #expect(errno { _ = try ControlSocket.read("control", in: home.path("none")) } == ENOENT)
        do { _ = try bound() }
        #expect(errno { _ = try ControlSocket.read("control", in: home.path) } == ECONNREFUSED)
        let socket = try bound()
        try socket.serve { "x" }
        socket.close()
        #expect(errno { _ = try ControlSocket.read("control", in: home.path) } == ENOENT)
        #expect(access(home.path("control"), F_OK) != 0)
    }

    /// A client that connects and reads nothing blocks the next one for two seconds at most.
    @Test func whoReadsNothing() throws {
        let socket = try bound()
        defer { socket.close() }
        let text = String(repeating: "0123456789", count: 1 << 18)
        try socket.serve { text }
        let silent = try makeSocket(family: AF_UNIX)
        let number = silent.number
        let address = SocketAddress(unixPath: home.path("control"))
        try system("connect") { address.withPointer { connect(number, $0, $1) } }
        #expect(try ControlSocket.read("control", in: home.path) == Array(text.utf8))
    }
}
