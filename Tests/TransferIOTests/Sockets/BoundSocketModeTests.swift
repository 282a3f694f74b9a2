import CLinux
import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferIO

/// The mode of a Unix socket decides who may connect.
@Suite struct BoundSocketModeTests {
    @Test func theFileHasTheMode() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("socket")
        let socket = try BoundSocket(SocketAddress(unixPath: path), unixPath: path, mode: 0o660)
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_mode & 0o777 == 0o660)
        // A process listens on the socket, so another one cannot take it.
        #expect(throws: SystemError.self) {
            try BoundSocket(SocketAddress(unixPath: path), unixPath: path, mode: 0o660)
        }
        socket.close()
        #expect(access(path, F_OK) != 0)
    }

    @Test func whatNobodyListensOnIsReplaced() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("socket")
        let stale = try makeSocket(family: AF_UNIX)
        let number = stale.number
        #expect(SocketAddress(unixPath: path).withPointer { bind(number, $0, $1) } == 0)
        let socket = try BoundSocket(SocketAddress(unixPath: path), unixPath: path, mode: 0o660)
        #expect(socket.endpoint == .unix(path: path))
        socket.close()
    }
}
