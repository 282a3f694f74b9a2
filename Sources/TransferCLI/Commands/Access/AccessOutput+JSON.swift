internal import TransferAccess
internal import TransferModel

extension AccessOutput {
    /// Writes one object per line to standard output.
    static func print(_ objects: [JSONLine]) {
        StandardStream.output.write(objects.map { $0.text + "\n" }.joined())
    }

    /// An entry of the access lists as a JSON object; every member is always present, except `secret`.
    ///
    /// - Parameters:
    ///   - kind: `key`, `token`, `pairing`, `web` or `session`.
    ///   - id: a key's fingerprint, or the ID of a token, code, link or session.
    ///   - secret: the text of a token or link that was just created; nil in lists.
    ///   - created: when a session began; nil for other kinds.
    ///   - sessionExpires: when the session of a link ends; nil for other kinds.
    static func json(
        _ kind: String, _ id: String, _ name: String, _ options: AccessOptions, secret: String? = nil,
        created: UTCTime? = nil, sessionExpires: UTCTime? = nil
    ) -> JSONLine {
        var object: JSONLine = [
            "schema": .string(secret == nil ? JSONSchema.access : JSONSchema.issued),
            "kind": .string(kind), "id": .string(id), "name": .string(name),
            "folder": options.folder.map { .string($0.string) } ?? .null,
            "quota": options.quota.map { .integer($0) } ?? .null,
            "maxFiles": options.maximumFiles.map { .integer($0) } ?? .null,
            "maxUpload": options.maximumUpload.map { .integer($0) } ?? .null,
            "rights": .string(options.rights.name),
            "expires": options.expires.map { .string($0.description) } ?? .null,
            "created": created.map { .string($0.description) } ?? .null,
            "sessionExpires": sessionExpires.map { .string($0.description) } ?? .null,
        ]
        if let secret { object.append("secret", .string(secret)) }
        return object
    }

    /// An entry of the list of tokens as a JSON object.
    static func json(_ entry: AccessToken) -> JSONLine {
        let kind =
            switch entry.kind {
            case .token: "token"
            case .pairing: "pairing"
            case .web: "web"
            case .session: "session"
            }
        return json(kind, entry.id, entry.name, entry.options, created: entry.made, sessionExpires: entry.sessionEnds)
    }
}

extension AccessRights {
    fileprivate var name: String {
        switch self {
        case .readWrite: "read-write"
        case .noRemove: "no-remove"
        case .readOnly: "read-only"
        case .writeOnly: "write-only"
        }
    }
}
