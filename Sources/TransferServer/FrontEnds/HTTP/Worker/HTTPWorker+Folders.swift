import TransferHTTP
import TransferIntake
import TransferModel
import TransferStore

/// Folders that are made.
extension HTTPWorker {
    /// A folder is there, durably, when this is answered with success.
    func makeFolder(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) {
        guard request.body == .none || request.body == .length(0) else {
            throw HTTPRefusal(
                400, .wrongForm, "A folder has no content: put a file to a path without a slash behind it.")
        }
        // Who may not read learns nothing by the answer.
        let seen = (try? client.pathForReading(target.path)) ?? nil
        try checkConditions(request, on: seen)
        let present = seen.flatMap { files.attributes(at: $0) }
        do throws(Failure) {
            let place = try client.pathForMaking(target.path)
            guard present?.isDirectory ?? true else {
                throw Failure(.pathConflict, "\(target.path.escapedForDisplay) is a file.")
            }
            try resources.store.makeFolder(place)
        } catch {
            throw HTTPRefusal(error)
        }
        let location = "/" + PercentEncoding.path(target.path.utf8) + "/"
        reply(
            request, HTTPReply(present == nil ? 201 : 200, [("Location", location), ("Cache-Control", "no-store")]))
    }

    private func checkConditions(_ request: HTTPRequest, on place: RelativePath?) throws(HTTPRefusal) {
        do throws(HTTPFault) {
            let conditions = HTTPConditions(try Preconditions(request.head.fields, now: .now), on: place)
            guard conditions.hold(files) else { throw .conditionsFail }
        } catch {
            throw HTTPRefusal(error.status, error.status == 412 ? .pathConflict : .malformedFrame, error.message)
        }
    }
}
