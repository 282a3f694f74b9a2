import TransferCodec
import TransferModel
import TransferProtocol

/// Sends requests and reads their answers.
extension RawClient {
    /// Frames that answer a `fetch`.
    struct Fetched {
        var file: FetchedFile?
        var content: [UInt8] = []
        var blocks: [BlockDigest] = []
        var end: End?
        var outcome: Outcome?
    }

    func ask(_ request: Request) { send(request.message) }

    func list(
        _ path: String = "", id: UInt32 = 1, itself: Bool = false, details: Bool = false
    ) throws -> (entries: [ListedEntry], outcome: Outcome) {
        ask(.list(ListRequest(id: id, path: path, isAboutItself: itself, wantsDetails: details)))
        return try listed()
    }

    /// Reads the answer to a list request.
    func listed() throws -> (entries: [ListedEntry], outcome: Outcome) {
        var entries: [ListedEntry] = []
        while true {
            switch try answer() {
            case .entries(let frame): entries += frame.entries
            case .outcome(let outcome): return (entries, outcome)
            case let message: throw Failure(description: "no entries but \(message)")
            }
        }
    }

    func fetch(_ request: FetchRequest) throws -> Fetched {
        ask(.fetch(request))
        return try fetched()
    }

    /// Reads the answer to a fetch request.
    func fetched() throws -> Fetched {
        var fetched = Fetched()
        while true {
            let (data, message) = try nextData()
            if let data { fetched.content += data }
            switch message {
            case .file(let file)?: fetched.file = file
            case .block(let block)?: fetched.blocks.append(block)
            case .end(let end)?:
                fetched.end = end
                return fetched
            case .outcome(let outcome)?:
                fetched.outcome = outcome
                return fetched
            case .ping?, .welcome?, nil: continue
            case let message?: throw Failure(description: "no content but \(message)")
            }
        }
    }

    func remove(_ path: String, id: UInt32 = 1, recursive: Bool = false) throws -> Outcome {
        ask(.remove(RemoveRequest(id: id, path: path, isRecursive: recursive)))
        return try outcome()
    }

    func outcome() throws -> Outcome {
        guard case .outcome(let outcome) = try answer() else { throw Failure(description: "no outcome") }
        return outcome
    }
}
