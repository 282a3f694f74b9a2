import CLinux
import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferIO

@Suite struct BoundSocketTests {
    @Test func whatIsInheritedIsTheSame() throws {
        let first = try BoundSocket(Endpoint.internet(host: "127.0.0.1", port: 0).resolve()[0])
        let second = try BoundSocket(inherited: dup(first.number))
        #expect(second.endpoint == first.endpoint && second.address.port != 0)
        first.close()
        // The second holder of the socket still listens.
        let client = try makeSocket(family: AF_INET)
        let number = client.number
        #expect(second.address.withPointer { connect(number, $0, $1) } == 0 || errno == EINPROGRESS)
        second.close()
        second.close()
    }

    /// The file belongs to the socket that made it.
    @Test func onlyTheFirstOneRemovesTheFile() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("socket")
        let first = try BoundSocket(SocketAddress(unixPath: path), unixPath: path)
        let second = try BoundSocket(inherited: dup(first.number))
        #expect(second.endpoint == .unix(path: path))
        second.close()
        #expect(access(path, F_OK) == 0)
        first.close()
        #expect(access(path, F_OK) != 0)
    }

    @Test func whatDoesNotListenIsRefused() throws {
        let idle = try makeSocket(family: AF_INET)
        #expect(throws: SystemError(errno: EINVAL, call: "getsockopt")) { try BoundSocket(inherited: idle.number) }
        let datagrams = Descriptor(socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0))
        #expect(throws: SystemError(errno: EINVAL, call: "getsockopt")) { try BoundSocket(inherited: datagrams.number) }
        let file = Descriptor(open("/dev/null", O_RDONLY))
        #expect(throws: SystemError(errno: ENOTSOCK, call: "getsockname")) { try BoundSocket(inherited: file.number) }
        #expect(throws: SystemError(errno: EBADF, call: "getsockname")) { try BoundSocket(inherited: -1) }
    }
}
