package import TransferIO

/// One receive buffer on its way to the pool, with what was found in it, in order.
package protocol ReceivedSteps: AnyObject, Sendable {
    /// The buffer, and how far it was parsed.
    var input: ReceiveBuffer { get set }

    /// Received bytes that were not parsed yet.
    var unparsed: UnsafeRawBufferPointer { get }

    func received(_ count: Int)

    func consumed(_ count: Int)

    /// Whether nothing was found that is to be worked on.
    var isEmpty: Bool { get }

    /// Whether no more steps may be added. There may be whole frames left in the buffer.
    var isComplete: Bool { get }

    /// - Parameter carry: what is received already, and belongs in front.
    init(_ buffer: BlockBuffer, carry: [UInt8])

    /// Goes on in the buffer of one that has all its steps. The two read and write different bytes of it.
    init(after steps: Self)
}

extension ReceivedSteps {
    package var unparsed: UnsafeRawBufferPointer { input.unparsed }

    package func received(_ count: Int) { input.received(count) }

    package func consumed(_ count: Int) { input.consumed(count) }
}
