import TransferGallery
import TransferHTTP
import TransferIntake
import TransferModel
import TransferPorts

/// Answers `/.transfer/details/PATH`: everything that is known about a stored file, for clients that may read it.
struct DetailsHandler: HTTPHandler {
    let context: HTTPContext

    private static let schema = "transfer.details/1"

    func give(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        let path = target.path(below: "details")
        do throws(Failure) {
            let place = try context.caller.pathForReading(path)
            guard let place, !target.isFolder else { throw .notFound(place) }
            let content = try context.files.openSound(place)
            let document = self.document(path, content.attributes, at: place)
            return .reply(
                HTTPReply(200, [("Cache-Control", "no-store")], document.terminated, type: "application/json"))
        } catch {
            throw HTTPRefusal(error)
        }
    }

    private func document(_ path: String, _ attributes: StoredAttributes, at place: RelativePath) -> JSONLine {
        let known = context.resources.intake.known
        known.indexIfNeeded()
        let upload = known.details(of: [(place, attributes)])[0]
        let entry = EntryDocument(path, attributes, upload)
        let key = PictureKey(attributes.version, upload?.digest, in: place.parent)
        let picture = context.service.core.gallery?.summaries([key])[0]
        let id = upload.map { context.caller.outer($0.id).description }
        // Without a key or token, the sender is known by its address only, which is not for other clients.
        let sender = upload?.client == nil ? nil : upload?.sender
        let receipt = id.map { "/\(RelativePath.reservedName)/receipt/\($0)" }
        return [
            "schema": .string(Self.schema), "path": .string(entry.path), "size": .integer(entry.size),
            "modified": .string(entry.modified.exact), "stored": entry.stored.map { .string($0.exact) } ?? .null,
            "kind": entry.kind.map { .string($0.name) } ?? .null,
            "digest": entry.digest.map { .string($0.description) } ?? .null,
            "picture": picture.map { .object($0.json) } ?? .null,
            "sender": sender.map { .string($0) } ?? .null,
            "uploadID": id.map { .string($0) } ?? .null, "receipt": receipt.map { .string($0) } ?? .null,
        ]
    }
}

extension HTTPTarget {
    /// The path below one of the server's own, as in `/.transfer/NAME/PATH`.
    func path(below name: String) -> String {
        String(Substring(path.utf8.dropFirst("\(RelativePath.reservedName)/\(name)/".utf8.count)))
    }
}
