package import TransferModel

/// The client's side of the `sized` framing: a head before the content, and an answer of 12 bytes if the server sends
/// answers.
package struct SizedClient: ClassicClient {
    private let total: SizedTotal

    package let isAnswered: Bool

    /// - Parameters: see `ClassicFraming.sized`.
    init(total: SizedTotal, isAnswered: Bool) {
        (self.total, self.isAnswered) = (total, isAnswered)
    }

    package func begin(_ upload: ClassicUpload) throws(Failure) -> [UInt8] {
        guard let kind = upload.kind, kind != .file else {
            throw Failure(
                .unsuitable,
                "sized carries only texts, audio, pictures and locations, and this file is recognised "
                    + "as none of them; give its kind with --kind.")
        }
        guard let size = upload.size, let head = Self.head(kind: kind, size: size, total: total) else {
            throw Failure(.unsuitable, "It is too large for sized, which can carry 2 GiB less a few bytes.")
        }
        return head
    }

    /// The 8 bytes before the content of an upload.
    ///
    /// - Returns: nil if the framing cannot carry the upload, because it is a `file` or its total exceeds 2^31 - 1.
    package static func head(kind: ContentKind, size: UInt64, total: SizedTotal = .whole) -> [UInt8]? {
        let (stated, isTooLarge) = size.addingReportingOverflow(UInt64(total.overhead))
        guard let type = SizedType(kind), !isTooLarge, stated <= UInt64(Int32.max) else { return nil }
        var bytes: [UInt8] = []
        bytes.append(littleEndian: UInt32(stated))
        bytes.append(littleEndian: type.rawValue)
        return bytes
    }

    /// Without answers, all bytes from the server are ignored.
    package mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> (answer: ClassicAnswer, consumed: Int) {
        guard isAnswered else { return (bytes.byteCount > 0 ? .nothing : .needsMore, bytes.byteCount) }
        guard let answer = try SizedAnswer.decode(bytes) else { return (.needsMore, 0) }
        guard answer.isStored else { return (.failed, SizedAnswer.size) }
        guard let kind = answer.kind else {
            throw ClassicFault(.unexpectedFrame, "The server reports an upload of no type as stored.")
        }
        return (.stored(kind), SizedAnswer.size)
    }
}
