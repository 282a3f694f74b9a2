/// What a server takes (draft-ietf-httpbis-resumable-upload, Upload-Limit); nothing where there is no limit.
package struct UploadLimit: Equatable, Sendable {
    /// Bytes of an upload.
    package var maxSize: UInt64?
    package var minSize: UInt64?
    /// Bytes of one request.
    package var maxAppendSize: UInt64?
    package var minAppendSize: UInt64?
    /// Seconds until an upload is forgotten.
    package var maxAge: UInt64?

    package init(
        maxSize: UInt64? = nil, minSize: UInt64? = nil, maxAppendSize: UInt64? = nil, minAppendSize: UInt64? = nil,
        maxAge: UInt64? = nil
    ) {
        (self.maxSize, self.minSize, self.maxAge) = (maxSize, minSize, maxAge)
        (self.maxAppendSize, self.minAppendSize) = (maxAppendSize, minAppendSize)
    }

    /// A structured dictionary; empty when there is no limit, and then the field is not sent. Numbers that have more
    /// than the 15 digits of a structured integer are written as the largest that has 15.
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
