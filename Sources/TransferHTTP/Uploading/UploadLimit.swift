/// Limits of the server (draft-ietf-httpbis-resumable-upload, Upload-Limit); nil for no limit.
package struct UploadLimit: Equatable, Sendable {
    /// Most bytes of an upload.
    package var maxSize: UInt64?
    package var minSize: UInt64?
    /// Most bytes of one request.
    package var maxAppendSize: UInt64?
    package var minAppendSize: UInt64?
    /// Seconds until the server discards an upload.
    package var maxAge: UInt64?

    package init(
        maxSize: UInt64? = nil, minSize: UInt64? = nil, maxAppendSize: UInt64? = nil, minAppendSize: UInt64? = nil,
        maxAge: UInt64? = nil
    ) {
        (self.maxSize, self.minSize, self.maxAge) = (maxSize, minSize, maxAge)
        (self.maxAppendSize, self.minAppendSize) = (maxAppendSize, minAppendSize)
    }

    /// The value as a structured dictionary; empty if there are no limits, and the field is not sent then. A number
    /// above the largest structured integer, which has 15 digits, is written as that integer.
    package var text: String {
        let members: [(String, UInt64?)] = [
            ("max-size", maxSize), ("min-size", minSize), ("max-append-size", maxAppendSize),
            ("min-append-size", minAppendSize), ("max-age", maxAge),
        ]
        var dictionary = StructuredDictionary()
        for case (let key, let number?) in members {
            let shown = min(Int64(clamping: number), StructuredSyntax.largest)
            dictionary.set(key, .item(StructuredItem(.integer(shown))))
        }
        return StructuredWriter.text(dictionary) ?? ""
    }
}
