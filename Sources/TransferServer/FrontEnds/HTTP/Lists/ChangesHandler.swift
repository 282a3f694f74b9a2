import Synchronization
import TransferHTTP
import TransferIO
import TransferIntake
import TransferModel
import TransferPorts
import TransferProtocol

/// Makes folders, and moves, copies, removes and restores entries: `POST /.transfer/changes`, with a list of changes.
struct ChangesHandler: HTTPHandler {
    let context: HTTPContext

    func make(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        .receive(
            try ListReceiver(request, context) { [context] (items) throws(HTTPRefusal) in
                var changes: [RequestedChange] = []
                for item in items { changes.append(try RequestedChange(item)) }
                return HTTPChanges(target.path, changes, StreamedBody(for: request), context)
            })
    }
}

/// The answer to a list of changes: makes them in order, and adds a line of JSON for each that is durable or has failed. A change that fails
/// does not keep the next ones from being made; if the client goes, they are not made. Used by one task at a time.
final class HTTPChanges: HTTPAnswer {
    let path: String
    private var body: StreamedBody
    private let context: HTTPContext
    private let changes: ConnectionChanges
    private var rest: ArraySlice<RequestedChange>
    /// Changes that are made together.
    private var waiting: [RequestedChange] = []
    /// The copy that is under way.
    private var copying: (change: RequestedChange, copy: FileCopy)?
    private var failures = FailureTally()

    init(_ path: String, _ changes: [RequestedChange], _ body: StreamedBody, _ context: HTTPContext) {
        (self.path, self.body, self.context, rest) = (path, body, context, changes[...])
        self.changes = ConnectionChanges(context.resources, context.uploads.trash)
    }

    var endsConnection: Bool { body.endsConnection }

    func head(isLast: Bool) -> [UInt8] {
        body.head([("Content-Type", "application/x-ndjson"), ("Cache-Control", "no-store")], isLast: isLast)
    }

    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool {
        if let (change, copy) = copying {
            goOn(change, copy, &outcome)
            body.keepAlive(&outcome)
            // If the client has gone, the copy is given up.
            outcome.rest()
        } else if !changes.mustCommit, let next = rest.popFirst() {
            begin(next, &outcome)
        } else if !waiting.isEmpty {
            commit(&outcome)
            outcome.rest()
        } else {
            body.end(&outcome)
            return true
        }
        return false
    }

    /// Each change is logged when it is made.
    func events(peer: String) -> [LogEvent] { [] }

    /// The client with its present rights, which are renewed while the answer is made.
    private var caller: Caller { context.uploads.intake.caller }

    /// Begins a copy, or adds another change to those that wait.
    private func begin(_ change: RequestedChange, _ outcome: inout HTTPOutcome) {
        do throws(Failure) {
            if context.resources.intake.isStopping.load(ordering: .relaxed) { throw Failure.serverStopping }
            // A condition and a copy are about what the changes before have made.
            if change.isOfPresent {
                commit(&outcome)
                context.files.endTurn()
            }
            let request = change.request(of: try version(change))
            if case .make(let make) = request, make.form == .copy {
                let copy = try changes.copy(make, caller, context.files, sender: context.uploads.intake.sender)
                copying = (change, copy)
            } else {
                try changes.add(request, caller)
                waiting.append(change)
            }
        } catch {
            commit(&outcome)
            end(change, .failure(error), &outcome)
        }
    }

    /// - Returns: the version of the file to which the change is limited; nil for any.
    private func version(_ change: RequestedChange) throws(Failure) -> FileVersion? {
        guard let tag = change.tag else { return nil }
        guard let place = try caller.pathForReading(change.path) else { throw .conditionFails }
        do throws(HTTPFault) {
            return try HTTPConditions(tag, on: place).version(context.files)
        } catch {
            throw .otherVersion(place)
        }
    }

    private func goOn(_ change: RequestedChange, _ copy: FileCopy, _ outcome: inout HTTPOutcome) {
        do throws(Failure) {
            guard let done = try copy.goOn() else { return }
            end(change, .success(done), &outcome)
        } catch {
            end(change, .failure(error), &outcome)
        }
        copying = nil
    }

    private func commit(_ outcome: inout HTTPOutcome) {
        let made = waiting
        waiting = []
        for (change, result) in zip(made, changes.commit()) { end(change, result, &outcome) }
    }

    private func end(
        _ change: RequestedChange, _ result: Result<TreeChange.Done, Failure>, _ outcome: inout HTTPOutcome
    ) {
        var document = ChangeDocument(
            path: change.path, result: .completed, target: change.target, isDurable: false, message: "", form: nil,
            trash: nil)
        let peer = context.uploads.peer
        switch result {
        case .success(let done):
            (document.isDurable, document.trash) = (context.resources.isDurable, done.trash)
            if change.isCopy { document.form = "file" }
            context.uploads.events.append(.changed(change.request, peer: peer))
        case .failure(let error):
            (document.result, document.message) = (error.code, caller.redacted(error.message))
            context.uploads.events.append(
                .requestFailed(change.path, error, peer: peer, isRepeated: failures.add(error.code) > 1))
        }
        body.write(document.json.terminated, to: &outcome)
    }
}

extension RequestedChange {
    fileprivate var isCopy: Bool { if case .make(let make) = request { make.form == .copy } else { false } }

    /// Whether the change needs to know what is stored when it begins.
    fileprivate var isOfPresent: Bool { tag != nil || isCopy }
}
