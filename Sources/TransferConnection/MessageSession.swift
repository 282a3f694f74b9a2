import TransferIO
import TransferModel
package import TransferProtocol

/// A session to which only messages come, which it works on at once.
package protocol MessageSession: FrameSession {
    /// Bytes that are received at once; more than any message has.
    static var receiveSize: Int { get }

    /// Called around the messages of one buffer.
    func gather(_ body: () -> Int) -> Int

    func take(_ message: Message) throws(ProtocolFault)

    /// The other end says no more.
    func ended()
}

extension MessageSession {
    /// Reads until the session is ending.
    package func readLoop() async {
        let hasEnded = await read(holding: Self.receiveSize) { bytes in gather { parse(bytes.bytes) } }
        if hasEnded { ended() }
    }

    /// - Returns: how many bytes were taken.
    private func parse(_ bytes: RawSpan) -> Int {
        var consumed = 0
        do throws(ProtocolFault) {
            while !isEnding {
                switch try parser.next(bytes.extracting(consumed..<bytes.byteCount)) {
                case .needsMore: return consumed
                case .message(let message, let count):
                    consumed += count
                    try take(message)
                case .data: throw ProtocolFault(.unexpectedFrame, "The server sent data.")
                }
            }
        } catch {
            broke(error)
        }
        return consumed
    }
}
