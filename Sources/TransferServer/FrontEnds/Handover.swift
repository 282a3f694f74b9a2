import TransferConnection
import TransferIO
import TransferProtocol

/// A connection of which is known how both sides talk and which front end leads the conversation.
///
/// `@unchecked Sendable`: the connection makes it on its loop and touches the driver no more; the session lives on the same
/// loop.
struct Handover: @unchecked Sendable {
    /// Of the connection; they grow.
    let number: Int

    let origin: PeerOrigin
    let loop: EventLoop

    /// Has the socket, and the times since the client came: its handshake has one deadline over all of it.
    let driver: ConnectionDriver

    /// What can be seen of the connection from elsewhere.
    let progress: ConnectionProgress

    /// As they were when the client came.
    let settings: ServerSettings

    /// What the client has said already.
    let received: [UInt8]

    /// What the client is told, and then nothing else; nothing for one that is to be served.
    let refusal: ProtocolFault?
}
