internal import CLinux
import Glibc
import TransferSystem

/// Two connected Unix-domain sockets that do not block.
final class SocketPair: Sendable {
    let near: Descriptor
    let far: Descriptor

    init() throws(SystemError) {
        let (near, far) = try Self.numbers()
        self.near = Descriptor(near)
        self.far = Descriptor(far)
    }

    /// Bare descriptors, which the caller has to close.
    static func numbers() throws(SystemError) -> (near: Int32, far: Int32) {
        var numbers: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        try system("socketpair") { socketpair(AF_UNIX, type, 0, &numbers) }
        return (numbers[0], numbers[1])
    }
}
