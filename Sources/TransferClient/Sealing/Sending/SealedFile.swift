import TransferModel
import TransferSealing
import TransferSystem

/// A file as the server gets it: sealed, and to be read from anywhere, with the same bytes each time.
final class SealedFile: Sendable {
    let source: SealedSource
    private let state: SealingState
    private let recipients: [SealingRecipient]

    /// Where its secrets are kept; nothing where nobody will go on with them.
    let place: SealingPlace?

    /// - Parameter state: made for that source and these recipients.
    init(_ source: SealedSource, _ state: SealingState, for recipients: [SealingRecipient], _ place: SealingPlace?) {
        (self.source, self.state, self.recipients, self.place) = (source, state, recipients, place)
    }

    /// Bytes of all of it.
    var size: UInt64 { state.layout.sealedSize }

    /// - Parameter range: of the sealed bytes.
    /// - Throws: `sourceChanged` when the file is not what it was: then its secrets are thrown away.
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

    /// Whoever has seen it change comes by here.
    func given(up failure: Failure) -> Failure {
        // One content for one secret: nothing may ever be sealed with it again.
        if failure.code == .sourceChanged { place?.remove() }
        return failure
    }
}
