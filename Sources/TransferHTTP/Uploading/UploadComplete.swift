/// Whether a request's content ends its upload, or an upload is complete (draft-ietf-httpbis-resumable-upload).
package enum UploadComplete {
    /// - Parameter interop: the draft of the request; nil counts as the newest.
    /// - Returns: nil if the field is missing.
    /// - Throws: 400 unless the field is a structured boolean.
    package static func value(_ fields: HTTPFields, _ interop: ResumableInterop?) throws(HTTPFault) -> Bool? {
        let isInverted = interop?.saysIncomplete ?? false
        let lines = fields.values(isInverted ? "upload-incomplete" : "upload-complete")
        guard !lines.isEmpty else { return nil }
        guard let item = StructuredField.item(lines), case .boolean(let value) = item.value else {
            throw HTTPFault(400, "\(name(interop)) is not a boolean.")
        }
        return value != isInverted
    }

    /// Name of the field in a draft.
    package static func name(_ interop: ResumableInterop?) -> String {
        interop?.saysIncomplete ?? false ? "Upload-Incomplete" : "Upload-Complete"
    }

    /// Value of the field in a draft.
    package static func text(_ isComplete: Bool, _ interop: ResumableInterop?) -> String {
        isComplete != (interop?.saysIncomplete ?? false) ? "?1" : "?0"
    }
}
