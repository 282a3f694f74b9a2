/// The draft of resumable uploads that a client uses (draft-ietf-httpbis-resumable-upload,
/// Upload-Draft-Interop-Version).
package struct ResumableInterop: Equatable, Sendable {
    /// Supported versions, beginning with that of iOS 17.
    package static let supported: ClosedRange<Int64> = 3...9

    package let version: Int64

    /// - Returns: nil if the field is missing, is not an integer, or names an unsupported version. No 104 is sent then.
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

    /// Whether fields say that an upload is incomplete, as in version 3; in later versions they say that it is
    /// complete.
    package var saysIncomplete: Bool { version == 3 }

    /// Whether a PATCH has the type `application/partial-upload`, as from version 6 on.
    package var hasContentType: Bool { version >= 6 }

    /// The value of the field in a 104.
    package var text: String { "\(version)" }

    /// Content type of an append.
    package static let contentType = "application/partial-upload"
}
