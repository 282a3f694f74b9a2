import TransferModel
import TransferSealing
import TransferSystem

/// A file in the sealed form that the server gets. It can be read from any offset, with the same bytes each time.
final class SealedFile: Sendable {
    let source: SealedSource
    private let state: SealingState
    private let recipients: [SealingRecipient]

    /// Where its secrets are kept; nil if the upload will not be resumed.
    let place: SealingPlace?

    /// - Parameter state: made for this source and these recipients.
    init(_ source: SealedSource, _ state: SealingState, for recipients: [SealingRecipient], _ place: SealingPlace?) {
        (self.source, self.state, self.recipients, self.place) = (source, state, recipients, place)
    }

    /// Bytes of the whole sealed file.
    var size: UInt64 { state.layout.sealedSize }

    /// - Parameter range: range of the sealed bytes.
    /// - Throws: `sourceChanged` if the source has changed; then its secrets are removed.
    func open(_ range: Range<UInt64>) throws(Failure) -> ContentReader {
        do throws(Failure) {
            return ContentReader(try reader(of: range), size: UInt64(range.count))
        } catch {
            throw given(up: error)
        }
    }

    private func reader(of range: Range<UInt64>) throws(Failure) -> SealedReader {
        let start = try Failure.whileSealing { () throws(SealingError) in
            try state.layout.position(ofSealed: range.lowerBound).contentOffset
        }
        let content = try source.open(start..<max(start, source.file.size))
        let sealer = try Failure.whileSealing { () throws(SealingError) in
            try Sealer(state, sealing: source.binding, for: recipients, from: range.lowerBound)
        }
        return SealedReader(self, content, sealer, size: UInt64(range.count))
    }

    /// Handles a failure of reading; every failure passes here.
    func given(up failure: Failure) -> Failure {
        // A secret may seal only one content, so these secrets must not be used again.
        if failure.code == .sourceChanged { place?.remove() }
        return failure
    }
}
