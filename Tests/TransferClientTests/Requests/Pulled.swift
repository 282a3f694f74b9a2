import TransferClient
import TransferModel
import TransferProtocol
import TransferTestSupport

/// All events of one pull.
struct Pulled {
    var reports: [PullReport] = []
    var folders: [KnownFolder] = []
    var failure: TransferFailure?
    var planned: [PlannedDownload] = []
    var counted: [(files: Int, bytes: UInt64)] = []
    var reconnects = 0

    init(
        _ paths: [String], from address: ServerAddress, to directory: String,
        _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws {
        try await self.init(paths.map { Download($0) }, from: address, to: directory, change)
    }

    init(
        _ downloads: [Download], from address: ServerAddress, to directory: String, isPreview: Bool = false,
        _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws {
        let client = try TransferClient(server: address, configuration: .plain(change))
        do throws(TransferFailure) {
            for try await event in client.pull(downloads, to: directory, isPreview: isPreview) {
                switch event {
                case .finished(let report): reports.append(report)
                case .known(let folder): folders.append(folder)
                case .planned(let download): planned.append(download)
                case .counted(let files, let bytes): counted.append((files, bytes))
                case .reconnecting: reconnects += 1
                case .connected, .progress: break
                }
            }
        } catch {
            failure = error
        }
    }

    /// Results by the path on the server.
    var results: [String: ResultCode] { Dictionary(reports.map { ($0.source, $0.result) }) { first, _ in first } }
}

/// The end of an answer to a request.
typealias Ending = TransferProtocol.Outcome

extension ClientConfiguration {
    static func plain(_ change: (inout ClientConfiguration) -> Void = { _ in }) -> ClientConfiguration {
        var configuration = ClientConfiguration.patient
        configuration.lanes = .fixed(1)
        change(&configuration)
        return configuration
    }
}

/// All elements of a sequence, and the failure that ended it.
func all<Event>(_ events: RequestEvents<Event>) async -> (events: [Event], failure: TransferFailure?) {
    var all: [Event] = []
    do throws(TransferFailure) {
        for try await event in events { all.append(event) }
        return (all, nil)
    } catch {
        return (all, error)
    }
}
