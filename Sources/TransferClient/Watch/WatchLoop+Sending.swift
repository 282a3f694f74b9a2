import Glibc
import TransferModel
import TransferSystem

extension WatchLoop {
    /// In one push: what rests meanwhile is sent with the next.
    private static let filesAtOnce = 2048
    private static let bytesAtOnce: UInt64 = 1 << 30

    func sendIfPossible() {
        guard !isSending, !events.isFull, outage.nextTry.map({ $0 <= .now }) ?? true else { return }
        guard files.hasReady || !hasAsked || outage.isOn else { return }
        let batch = files.takeBatch(files: Self.filesAtOnce, bytes: Self.bytesAtOnce)
        guard !batch.isEmpty || !hasAsked || outage.isOn else { return }
        (isSending, hasAsked) = (true, true)
        sender.send(batch)
    }

    func take(_ news: WatchNews) {
        switch news {
        case .connected:
            if let interval = outage.connected(at: .now) { events.send(.back(after: interval.seconds)) }
        case .lost(let reason):
            if outage.lost(at: .now) { events.send(.lost(reason: reason)) }
        case .notice(let sentence): events.send(.notice(sentence))
        case .finished(let reports): finish(reports)
        case .ended(let failure): end(failure)
        }
    }

    private func end(_ failure: PushFailure?) {
        isSending = false
        for path in files.sending { files.returned(path) }
        guard let failure, !isStopping else { return }
        guard failure.reason == .unreachable || outage.hasConnected && !options.endsWhenSent else {
            self.failure = failure
            return
        }
        let isNew = outage.lost(at: .now)
        var generator = SystemRandomNumberGenerator()
        guard outage.failed(at: .now, using: &generator) else {
            self.failure = failure
            return
        }
        if isNew { events.send(.lost(reason: failure.cause ?? failure.message)) }
    }

    private func finish(_ reports: [(report: UploadReport, fate: SourceFate)]) {
        remember(reports)
        for (report, fate) in reports where settle(report, fate) { events.send(.finished(report, fate)) }
    }

    /// Before anybody is told: what was told is remembered.
    private func remember(_ reports: [(report: UploadReport, fate: SourceFate)]) {
        let stored = reports.compactMap { report, _ in
            Self.isStored(report) ? report.file.map { (path: path(of: report), file: $0.known) } : nil
        }
        for (path, file) in stored where journal == nil { known.keep(path, file) }
        do throws(SystemError) {
            try journal?.keep(stored)
        } catch {
            guard !isToldOfJournal else { return }
            isToldOfJournal = true
            events.send(
                .notice(
                    "What was acknowledged cannot be kept (\(error)): after a restart the server is asked about it again"
                ))
        }
    }

    /// - Returns: whether people are told.
    private func settle(_ report: UploadReport, _ fate: SourceFate) -> Bool {
        let path = path(of: report)
        let look = Self.status(report.source).map { SettlingFiles.Look($0) }
        switch report.result {
        case .committed, .alreadyStored:
            if case .kept = fate {
                let isNew = files.failed(path, .sourceChanged, at: .now)
                return report.result == .committed || isNew
            }
            files.acknowledged(path, look, at: .now)
            return true
        case .cancelled, .connectionLost:
            files.returned(path)
            return false
        case .sourceChanged:
            files.changed(path, look, at: .now)
            return false
        case .sourceUnreadable where look == nil:
            files.vanished(path)
            return false
        case let code: return files.failed(path, code, at: .now)
        }
    }

    private static func isStored(_ report: UploadReport) -> Bool {
        report.result == .committed || report.result == .alreadyStored
    }

    private func path(of report: UploadReport) -> PathKey {
        PathKey(String(decoding: report.source.utf8.dropFirst(directory.utf8.count + 1), as: UTF8.self))
    }
}
