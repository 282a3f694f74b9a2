import CLinux
import Glibc
import Testing
import TransferTestSupport

@testable import TransferIO

/// `transfer serve --http-plain`, with its two processes.
@Suite(.ownThreads) struct PlainHTTPRunTests {
    private let home: TemporaryDirectory

    init() throws { home = try TemporaryDirectory() }

    private var socket: String { home.path("proxy.sock") }

    private func serve(_ flags: [String]) throws -> Program {
        let program = try Program(
            ["serve", "--dir", home.path("stored"), "--listen", "127.0.0.1:0", "--open"] + flags)
        try program.waitForError("listening on unix:\(socket) for HTTP from a proxy, without encryption")
        return program
    }

    /// The status line of the answer to a request.
    private func answer() throws -> String {
        let number = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(number) }
        var patience = timeval(tv_sec: Program.patience, tv_usec: 0)
        setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        guard SocketAddress(unixPath: socket).withPointer({ connect(number, $0, $1) }) == 0 else {
            throw Program.Failure(description: "connect: errno \(errno)")
        }
        let request = Array("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        send(number, request, request.count, Int32(MSG_NOSIGNAL))
        var line = [UInt8](repeating: 0, count: 15)
        let count = recv(number, &line, line.count, Int32(MSG_WAITALL))
        return String(decoding: line.prefix(max(0, count)), as: UTF8.self)
    }

    /// The socket outlives the worker behind it, and the supervisor removes it at the end.
    @Test func theSocketStaysWhileItIsServed() throws {
        let flags = ["--http-plain", "unix:\(socket)", "--trusted-proxy", "unix"]
        let program = try serve(flags)
        var status = stat()
        #expect(lstat(socket, &status) == 0 && status.st_mode & 0o777 == 0o660)
        #expect(try answer() == "HTTP/1.1 200 OK")
        let first = try program.waitForWorker()
        kill(first, SIGKILL)
        #expect(try answer() == "HTTP/1.1 200 OK")
        #expect(try program.waitForWorker(after: first) != first)
        program.signal(SIGTERM)
        #expect(try program.wait() == .exited(0))
        #expect(access(socket, F_OK) != 0)
    }

    /// A socket that a killed server left behind does not block the next server.
    @Test func aStaleSocketIsReplaced() throws {
        let flags = ["--http-plain", "unix:\(socket)", "--no-supervise"]
        let first = try serve(flags)
        first.signal(SIGKILL)
        _ = try first.wait()
        #expect(access(socket, F_OK) == 0)
        let second = try serve(flags)
        #expect(try answer() == "HTTP/1.1 200 OK")
        second.signal(SIGTERM)
        #expect(try second.wait() == .exited(0))
        #expect(access(socket, F_OK) != 0)
    }

    @Test(arguments: [
        (["--http-plain", "127.0.0.1"], "'127.0.0.1' is not an address for --http-plain"),
        (["--http-plain", "0.0.0.0:80"], "--http-plain on an address that others can reach needs --allow-insecure"),
        (["--http-plain", "unix:a", "--http-plain", "unix:a"], "--http-plain 'unix:a' is given twice"),
        (["--trusted-proxy", "localhost"], "'localhost' is not a proxy for --trusted-proxy"),
        (["--http", "off", "--trusted-proxy", "unix"], "--trusted-proxy needs --http"),
        (["--plaintext", "--trusted-proxy", "unix"], "--trusted-proxy needs --http"),
    ])
    func theCommandLineIsWrong(_ flags: [String], _ message: String) throws {
        let finished = try Finished(["serve", "--dir", home.path("stored")] + flags)
        #expect(finished.end == .exited(2) && finished.errors.contains(message), "\(finished.errors)")
    }
}
