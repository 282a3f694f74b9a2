package import TransferModel

/// What a client of the `sized` framing sends in front of content.
package enum SizedRequest {
    /// The 8 bytes in front of an upload.
    ///
    /// - Returns: nothing for what the framing cannot carry: a `file`, and more than 2^31 - 9 bytes.
    package static func head(kind: ContentKind, size: UInt64, total: SizedTotal = .whole) -> [UInt8]? {
        let (stated, isTooLarge) = size.addingReportingOverflow(UInt64(total.overhead))
        guard let type = SizedType(kind), !isTooLarge, stated <= UInt64(Int32.max) else { return nil }
        var bytes: [UInt8] = []
        bytes.append(littleEndian: UInt32(stated))
        bytes.append(littleEndian: type.rawValue)
        return bytes
    }
}
