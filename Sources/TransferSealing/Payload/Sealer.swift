/// Seals content that arrives in pieces as an age file, from the beginning or from any position.
///
/// It holds 128 KiB and belongs to one task at a time. After an error every call throws it again.
package final class Sealer {
    /// Offset of the first byte of content that `seal` needs.
    package let contentOffset: UInt64

    /// The file's tag, for its note.
    package let tag: SealedTag

    private let cipher: ChunkCipher
    /// Bytes of content that may still follow.
    private var remaining: UInt64
    /// Whether all these bytes must follow.
    private let isExact: Bool
    private var chunk: UInt64
    /// Bytes of header and nonce that are not yet written.
    private var lead: ArraySlice<UInt8>
    /// Bytes of the next sealed chunk that exist already.
    private var skipped: Int
    private var failure: SealingError?

    /// Content that waits until it is known whether it is the last.
    private let pending = WipedBuffer(capacity: SealedLayout.chunkSize)
    private let sealed = WipedBuffer(capacity: SealedLayout.sealedChunkSize)

    /// Begins or continues a sealed file.
    ///
    /// - Parameters:
    ///   - source: the present state of the source.
    ///   - recipients: the recipients of the state.
    ///   - offset: bytes of the sealed file that exist already. The output begins directly behind them, and `seal`
    ///     needs content from `contentOffset` on, up to 64 KiB before that position.
    /// - Throws: `otherSource` if the state belongs to another source, `tooLarge` for an offset behind the end.
    package convenience init(
        _ state: SealingState, sealing source: SealingSource, for recipients: [SealingRecipient],
        from offset: UInt64 = 0
    ) throws(SealingError) {
        guard HashedKeys.isEqual(state.binding, try source.binding(recipients)) else { throw .otherSource }
        try self.init(state, from: offset)
    }

    /// Seals a source that can be read only once, such as standard input, with new secrets. If the sealing is
    /// interrupted, it must begin again with another sealer.
    package convenience init(streamFor recipients: [SealingRecipient]) throws(SealingError) {
        let none = SealingSource(size: 0, context: [])
        let state = try SealingState(sealing: none, for: recipients)
        try self.init(state, from: 0, allowance: SealedLayout.mostContent)
    }

    /// - Parameter allowance: most bytes of content if the size is unknown.
    init(_ state: SealingState, from offset: UInt64, allowance: UInt64? = nil) throws(SealingError) {
        let position = try state.layout.position(ofSealed: offset)
        tag = try state.tag
        cipher = try ChunkCipher(.sealing, key: state.fileKey.payloadKey(state.nonce))
        contentOffset = position.contentOffset
        remaining = allowance ?? state.layout.contentSize - position.contentOffset
        isExact = allowance == nil
        chunk = position.chunk
        lead = position.hasLead ? (state.header.bytes + state.nonce).dropFirst(position.skipped) : []
        skipped = position.hasLead ? 0 : position.skipped
    }

    /// Consumes the next piece of content, and appends what can be sealed.
    ///
    /// - Throws: `otherSource` if there is more content than the source has.
    package func seal(_ input: RawSpan, into output: inout [UInt8]) throws(SealingError) {
        try whileItGoesWell { () throws(SealingError) in
            guard input.byteCount <= remaining else {
                throw isExact ? .otherSource : .tooLarge("Sealed, it would be longer than the longest upload.")
            }
            remaining -= UInt64(input.byteCount)
            output += lead
            lead = []
            try input.withUnsafeBytes { (input) throws(SealingError) in try take(input[...], into: &output) }
        }
    }

    private func take(
        _ input: Slice<UnsafeRawBufferPointer>, into output: inout [UInt8]
    ) throws(SealingError) {
        var rest = input
        while !rest.isEmpty {
            if pending.isFull { try sealPending(isLast: false, into: &output) }
            if pending.isEmpty, rest.count > SealedLayout.chunkSize {
                let whole = UnsafeRawBufferPointer(rebasing: rest.prefix(SealedLayout.chunkSize))
                try seal(chunk: whole, isLast: false, into: &output)
                rest = rest.dropFirst(SealedLayout.chunkSize)
            } else {
                rest = rest.dropFirst(pending.append(UnsafeRawBufferPointer(rebasing: rest)))
            }
        }
    }

    /// Appends the last chunk. No content may follow.
    ///
    /// - Throws: `otherSource` if there was less content than the source has.
    package func finish(into output: inout [UInt8]) throws(SealingError) {
        try whileItGoesWell { () throws(SealingError) in
            guard remaining == 0 || !isExact else { throw .otherSource }
            output += lead
            lead = []
            try sealPending(isLast: true, into: &output)
        }
        failure = .ended
    }

    private func whileItGoesWell(_ body: () throws(SealingError) -> Void) throws(SealingError) {
        if let failure { throw failure }
        do throws(SealingError) {
            try body()
        } catch {
            failure = error
            throw error
        }
    }

    private func sealPending(isLast: Bool, into output: inout [UInt8]) throws(SealingError) {
        try seal(chunk: pending.content, isLast: isLast, into: &output)
        pending.clear()
    }

    private func seal(
        chunk content: UnsafeRawBufferPointer, isLast: Bool, into output: inout [UInt8]
    ) throws(SealingError) {
        try cipher.seal(content, ChunkNonce(chunk: chunk, isLast: isLast), into: sealed.room)
        output += sealed.room.prefix(content.count + ChunkCipher.tagSize).dropFirst(skipped)
        skipped = 0
        // No file is long enough to overflow this.
        chunk &+= 1
    }
}
