/// Which draft of resumable uploads a client speaks (draft-ietf-httpbis-resumable-upload,
/// Upload-Draft-Interop-Version).
package struct ResumableInterop: Equatable, Sendable {
    /// Those that are spoken: from iOS 17's on.
    package static let supported: ClosedRange<Int64> = 3...9

    package let version: Int64

    /// - Returns: nothing when the field is missing, is no integer, or names a version that is not spoken: then no 104
    ///   is sent.
    package init?(_ fields: HTTPFields) {
        guard let item = StructuredField.item(fields.values("upload-draft-interop-version")),
            case .integer(let version) = item.value
        else { return nil }
        self.init(version)
    }

    package init?(_ version: Int64) {
        guard Self.supported.contains(version) else { return nil }
        self.version = version
    }

    /// Version 3 says that an upload is incomplete, the later ones that it is complete.
    package var saysIncomplete: Bool { version == 3 }

    /// From version 6 on a PATCH has the type `application/partial-upload`.
    package var hasContentType: Bool { version >= 6 }

    /// What a server sends with a 104.
    package var text: String { "\(version)" }

    /// The type of what is appended.
    package static let contentType = "application/partial-upload"
}
