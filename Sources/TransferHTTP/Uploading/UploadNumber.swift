/// Numbers of bytes in fields of uploads: only digits, up to the largest file offset.
package enum UploadNumber {
    /// - Parameter text: the field's value.
    /// - Throws: 400 for any other text, including a number with leading zeros, which some programs read as octal.
    package static func bytes(_ text: String, _ name: StaticString) throws(HTTPFault) -> UInt64 {
        guard text.utf8.first != UInt8(ascii: "0") || text.utf8.count == 1, let number = FieldSyntax.number(text.utf8)
        else {
            throw HTTPFault(400, "\(name) is not a number of bytes.")
        }
        return UInt64(number)
    }

    /// `Upload-Offset`; nil if it is missing.
    package static func offset(_ fields: HTTPFields) throws(HTTPFault) -> UInt64? {
        guard let text = try fields.only("upload-offset") else { return nil }
        return try bytes(text, "Upload-Offset")
    }

    /// `Upload-Length`; nil if it is missing.
    package static func length(_ fields: HTTPFields) throws(HTTPFault) -> UInt64? {
        guard let text = try fields.only("upload-length") else { return nil }
        return try bytes(text, "Upload-Length")
    }
}

/// The length that a creation declares (tus 1.0.0, creation and creation-defer-length).
package enum UploadDeclaredLength: Equatable, Sendable {
    case known(UInt64)
    /// `Upload-Defer-Length: 1`: the length is sent later.
    case deferred

    /// - Throws: 400 if both or neither are present, or one is malformed.
    package init(_ fields: HTTPFields) throws(HTTPFault) {
        switch (try UploadNumber.length(fields), try fields.only("upload-defer-length")) {
        case (let length?, nil): self = .known(length)
        case (nil, "1"?): self = .deferred
        case (nil, nil): throw HTTPFault(400, "The request needs Upload-Length or Upload-Defer-Length.")
        case (_?, _?): throw HTTPFault(400, "The request has both Upload-Length and Upload-Defer-Length.")
        case (nil, _?): throw HTTPFault(400, "Upload-Defer-Length is not 1.")
        }
    }
}
