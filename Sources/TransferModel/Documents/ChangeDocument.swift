/// The JSON object of a change of names, for `--json` of the commands that make them, and for changes over HTTP.
package struct ChangeDocument {
    package static let schema = "transfer.change/1"

    /// Path as the client knows it.
    package var path: String
    package var result: ResultCode
    /// New path of a copy or move; nil for other changes.
    package var target: String?
    package var isDurable: Bool
    /// A sentence for users; empty for a change that was made.
    package var message: String
    /// Form of the entry that was copied, such as `file`; nil for other changes, and if it is unknown.
    package var form: String?
    /// The trash batch with what was removed or replaced; nil for none.
    package var trash: TrashBatch?

    package init(
        path: String, result: ResultCode, target: String?, isDurable: Bool, message: String, form: String?,
        trash: TrashBatch?
    ) {
        (self.path, self.result, self.target, self.isDurable) = (path, result, target, isDurable)
        (self.message, self.form, self.trash) = (message, form, trash)
    }

    /// The object; every key is always present.
    package var json: JSONLine {
        [
            "schema": .string(Self.schema), "path": .string(path), "result": .string(result.name),
            "target": target.map { .string($0) } ?? .null, "durable": .bool(isDurable), "message": .string(message),
            "form": form.map { .string($0) } ?? .null, "trash": trash.map { .string($0.name) } ?? .null,
        ]
    }
}
