internal import TransferModel

/// Problems of resumable uploads (draft-ietf-httpbis-resumable-upload, Problem Types; RFC 9457).
package enum ResumableProblem: Equatable, Sendable {
    /// 409: the request's offset is not that of the upload.
    case mismatchingOffset(expected: UInt64, provided: UInt64)
    /// 400: the length differs from the length that was declared before, or from the actual length.
    case inconsistentLength
    /// 400: the upload is already complete.
    case completedUpload

    private static let registry = "https://iana.org/assignments/http-problem-types#"

    package var details: ProblemDetails {
        switch self {
        case .mismatchingOffset(let expected, let provided):
            ProblemDetails(
                type: Self.registry + "mismatching-upload-offset",
                title: "offset from request does not match offset of resource", status: 409,
                extensions: [
                    ("expected-offset", .integer(expected)), ("provided-offset", .integer(provided)),
                ])
        case .inconsistentLength:
            ProblemDetails(
                type: Self.registry + "inconsistent-upload-length", title: "inconsistent length values for upload",
                status: 400)
        case .completedUpload:
            ProblemDetails(type: Self.registry + "completed-upload", title: "upload is already completed", status: 400)
        }
    }
}
