/// Opens an age file that arrives in pieces. Only authenticated content is returned; but it is complete only after
/// `finish` has returned.
///
/// ```
/// header ──► nonce ──► payload ──finish──► ended
///    └─────────┴──────────┴──► failed
/// ```
///
/// It belongs to one task at a time. After an error every call throws it again.
package final class Opener {
    private enum State: ~Copyable {
        case header(HeaderScanner)
        case nonce(FileKey, SealedHeader, [UInt8])
        case payload(PayloadOpener)
        case over(SealingError)
    }

    private let keys: [SealingKey]
    private let limit: UInt64
    private var state = State.header(HeaderScanner())

    /// The file's tag, as in its note; nil until header and nonce have arrived.
    package private(set) var tag: SealedTag?

    /// - Parameters:
    ///   - keys: keys of the reader; all are tried.
    ///   - limit: most bytes of content, such as the size in a note.
    package init(_ keys: [SealingKey], atMost limit: UInt64 = .max) {
        (self.keys, self.limit) = (keys, limit)
    }

    /// Consumes the next piece of the file, and appends the content that is authenticated.
    ///
    /// - Throws: `notSealed`, `unsupported`, `malformed`, `weakKey`, `notForYou`, `damaged`, `trailingData`,
    ///   `tooLarge`. Content appended before remains valid.
    package func open(_ input: RawSpan, into output: inout [UInt8]) throws(SealingError) {
        do throws(SealingError) {
            var consumed = 0
            try input.withUnsafeBytes { (input) throws(SealingError) in
                while consumed < input.count { try step(input, &consumed, into: &output) }
            }
        } catch {
            state = .over(error)
            throw error
        }
    }

    /// Ends the file, and appends the remaining content.
    ///
    /// - Throws: `truncated` if a part is missing, and the errors of `open`.
    package func finish(into output: inout [UInt8]) throws(SealingError) {
        do throws(SealingError) {
            try end(into: &output)
            state = .over(.ended)
        } catch {
            state = .over(error)
            throw error
        }
    }

    private func end(into output: inout [UInt8]) throws(SealingError) {
        switch state {
        case .header: throw .truncated
        case .nonce: throw .truncated
        case .payload(let payload): try payload.finish(into: &output)
        case .over(let error): throw error
        }
    }

    private func step(
        _ input: UnsafeRawBufferPointer, _ consumed: inout Int, into output: inout [UInt8]
    ) throws(SealingError) {
        var current = State.over(.ended)
        swap(&current, &state)
        switch consume current {
        case .header(var scanner):
            if let header = try scanner.scan(input.bytes, consumed: &consumed) {
                state = .nonce(try header.fileKey(keys), header, [])
            } else {
                state = .header(scanner)
            }
        case .nonce(let fileKey, let header, var nonce):
            let piece = input[consumed...].prefix(SealedLayout.nonceSize - nonce.count)
            nonce += piece
            consumed += piece.count
            if nonce.count < SealedLayout.nonceSize {
                state = .nonce(fileKey, header, nonce)
            } else {
                state = .payload(try begin(fileKey, header, nonce))
            }
        case .payload(let payload):
            state = .payload(payload)
            try payload.open(UnsafeRawBufferPointer(rebasing: input[consumed...]), into: &output)
            consumed = input.count
        case .over(let error):
            throw error
        }
    }

    private func begin(
        _ fileKey: FileKey, _ header: SealedHeader, _ nonce: [UInt8]
    ) throws(SealingError) -> PayloadOpener {
        tag = try SealedTag(header, nonce: nonce)
        return try PayloadOpener(key: fileKey.payloadKey(nonce), atMost: limit)
    }
}
