import TransferHTTP
import TransferIntake
import TransferModel
import TransferPorts

/// Lists the trash: `/.transfer/trash/` has the trash batches, `/.transfer/trash/BATCH/FOLDER/` what was removed from a folder.
struct TrashHandler: HTTPHandler {
    let context: HTTPContext

    private static let noStore = ("Cache-Control", "no-store")

    func list(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        let names = target.path.utf8.split(separator: UInt8(ascii: "/")).dropFirst(2).map { String(Substring($0)) }
        do throws(Failure) {
            guard let name = names.first else { return .reply(try batches()) }
            guard let batch = TrashBatch(name) else {
                throw Failure(.notFound, "The trash has no batch \(name.escapedForDisplay).")
            }
            return .long(try content(of: batch, names.dropFirst().joined(separator: "/"), request))
        } catch {
            throw HTTPRefusal(error)
        }
    }

    /// The batches with something of the client's folder, the newest first.
    private func batches() throws(Failure) -> HTTPReply {
        let batches = try context.resources.tree.trash(below: try context.caller.pathInTrash(""))
        let objects = batches.sorted { PathKey($0.name) > PathKey($1.name) }.map { batch in
            JSONValue.object(["batch": .string(batch.name), "removed": .string(batch.time)])
        }
        return HTTPReply(
            200, [Self.noStore], Array((JSONValue.array(objects).text + "\n").utf8), type: "application/json")
    }

    /// - Parameter folder: its path before it was removed; empty for the client's top folder.
    private func content(
        of batch: TrashBatch, _ folder: String, _ request: HTTPRequest
    ) throws(Failure) -> HTTPListing {
        let resources = context.resources
        let listing = try resources.tree.list(.trash(batch, try context.caller.pathInTrash(folder)))
        resources.intake.known.indexIfNeeded()
        let form = Negotiation.mediaType(
            request.head.fields.values("accept"), of: ["application/json", "application/x-ndjson"])
        return HTTPListing(
            folder, listing, form == "application/x-ndjson" ? .lines : .json,
            fields: [Self.noStore, ("Vary", "Accept, Cookie, Authorization")], StreamedBody(for: request),
            resources.intake.known)
    }
}
