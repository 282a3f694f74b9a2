package import TransferIO

/// A socket that a server accepts on, and what is spoken there.
package struct ServerSocket: Sendable {
    package let socket: BoundSocket

    /// What comes in here; nothing for the usual front ends.
    package let classic: ClassicListener?

    package init(_ socket: BoundSocket, classic: ClassicListener? = nil) {
        (self.socket, self.classic) = (socket, classic)
    }
}
