internal import TransferAccess
internal import TransferProtocol

extension AccessOutput {
    /// Writes an object a line.
    static func print(_ objects: [JSONLine]) {
        StandardStream.output.write(objects.map { $0.text + "\n" }.joined())
    }

    /// Who may come in, as an object; every key is always there.
    ///
    /// - Parameters:
    ///   - kind: `key`, `token` or `pairing`.
    ///   - id: what it is found by.
    static func json(_ kind: String, _ id: String, _ name: String, _ options: AccessOptions) -> JSONLine {
        [
            "schema": .string(JSONSchema.access), "kind": .string(kind), "id": .string(id), "name": .string(name),
            "folder": options.folder.map { .string($0.string) } ?? .null,
            "quota": options.quota.map { .integer($0) } ?? .null,
            "maxUpload": options.maximumUpload.map { .integer($0) } ?? .null,
            "rights": .string(options.rights.name),
            "expires": options.expires.map { .string($0.description) } ?? .null,
        ]
    }
}

extension AccessRights {
    fileprivate var name: String {
        switch self {
        case .readWrite: "read-write"
        case .readOnly: "read-only"
        case .writeOnly: "write-only"
        }
    }
}
