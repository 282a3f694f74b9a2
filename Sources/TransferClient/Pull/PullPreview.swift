import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore

/// The requests of one connection of a preview: lists, but no content.
final class PullPreview: RequestSource {
    /// The most local files to compare before the requests are sent.
    private static let mostCompared = 1024

    private let plan: PullPlan
    /// Nil if the directory does not exist.
    private let present: PresentFiles?

    init(_ plan: PullPlan, _ directory: PullDirectory?) {
        self.plan = plan
        present = directory.map { PresentFiles(directory: $0, configuration: plan.context.configuration) }
    }

    var isOver: Bool { plan.isOver }

    var needs: Features { plan.archive == nil ? .files : [.files, .trees] }

    func next(_ count: Int, _ bytes: Int) -> [PendingRequest] {
        var next: [PendingRequest] = []
        var room = bytes
        var compared = 0
        let reader = present?.directory.reader()
        // There must be room for an item with the longest path.
        while next.count < count, room >= Request.fixedCost + Limits.path, next.isEmpty || compared < Self.mostCompared,
            !plan.events.isFull, let item = plan.next()
        {
            switch item {
            case .operand(let operand): next.append(operand.asked)
            case .folder(let folder): next.append(folder.asked)
            case .file(let file):
                compared += 1
                say(file, reader)
                continue
            // A preview fetches no files, so it has no parts.
            case .part(let split, _):
                split.dropped()
                continue
            }
            room -= next.last?.request.cost ?? 0
        }
        return next
    }

    func settle() {}

    func mayRead(_ next: Request?) -> Bool { !plan.events.isFull }

    private func say(_ file: PullFile, _ reader: (any TreeReader)?) {
        do throws(Failure) {
            if let present, let reader {
                if let report = try present.report(of: file, reader) { return plan.report(report, of: file) }
                if let report = conflict(file, reader) { return plan.report(report, of: file) }
            }
            let planned = PlannedDownload(source: file.source, path: file.target.string, size: file.entry.size)
            plan.events.send(.planned(planned))
            plan.done()
        } catch {
            plan.report(file.report(error.code, error.message), of: file)
        }
    }

    /// The conflict that would keep the file from being stored, as far as it can be foreseen.
    private func conflict(_ file: PullFile, _ reader: any TreeReader) -> PullReport? {
        guard plan.context.configuration.conflict == .fail, reader.attributes(at: file.target) != nil else {
            return nil
        }
        return file.report(.pathConflict, "Another entry with the name \(file.target) exists here.")
    }
}
