import TransferIO
import TransferSystem

extension StreamSocket {
    /// Returns a connected socket, or throws the reason.
    static func connect(
        to address: SocketAddress, loop: EventLoop, timeout nanoseconds: Int64
    ) async throws(SystemError) -> StreamSocket {
        let socket = try StreamSocket(for: address, loop: loop)
        do throws(SystemError) {
            try await socket.connect(to: address, timeout: nanoseconds)
        } catch {
            socket.close()
            throw error
        }
        return socket
    }
}
