import TransferCodec
import TransferIntake
import TransferMail
import TransferModel
import TransferStore
import TransferSystem

/// The content of a delivery on its way to a client: read, and digested on the way. Belongs to one task at a time.
final class ChatContent {
    let delivery: Delivery

    private let content: StoredContent
    private let digester: ContentDigester
    private var offset: UInt64 = 0

    /// - Parameter digester: reset.
    /// - Throws: `contentLost` when there is more or less of it than was acknowledged.
    init(_ delivery: Delivery, _ content: StoredContent, digester: ContentDigester) throws(Failure) {
        (self.delivery, self.content, self.digester) = (delivery, content, digester)
        guard content.attributes.size == delivery.mail.size else { throw .contentLost(delivery.mail.path) }
        if delivery.mail.size > UInt64(Limits.blockSize) { content.expectAll() }
    }

    /// Fills the chunk as far as it can. The last bytes only go into it when all of it is what was acknowledged: the wire has no
    /// words to take back what was said.
    ///
    /// - Returns: whether that was all.
    /// - Throws: `contentLost`; `storageFailed`. What the chunk has of the message must not be sent then.
    func fill(_ chunk: ContentChunk) throws(Failure) -> Bool {
        let length = Int(min(UInt64(chunk.room), delivery.mail.size - offset))
        let path = delivery.mail.path
        let bytes = try chunk.append(length) { (place) throws(Failure) in
            do throws(SystemError) {
                return try content.read(into: place, at: offset)
            } catch {
                throw Failure(error, reading: path)
            }
        }
        guard let bytes else { throw .contentLost(path) }
        digester.update(bytes) { _, _ in }
        offset += UInt64(length)
        guard offset == delivery.mail.size else { return false }
        guard digester.finish().digest == delivery.mail.digest else { throw .contentLost(path) }
        return true
    }
}
