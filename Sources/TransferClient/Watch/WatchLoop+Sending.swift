import Glibc
import TransferModel
import TransferSystem

extension WatchLoop {
    /// Bounds of one push. Files that become ready meanwhile go with the next.
    private static let filesAtOnce = 2048
    private static let bytesAtOnce: UInt64 = 1 << 30

    func sendIfPossible() {
        guard let sources, !isSending, !events.isFull, outage.nextTry.map({ $0 <= .now }) ?? true else { return }
        guard files.hasReady || !hasAsked || outage.isOn else { return }
        var batch: [PathKey] = []
        while batch.isEmpty, files.hasReady {
            batch = files.takeBatch(files: Self.filesAtOnce, bytes: Self.bytesAtOnce).filter(isAtRest)
        }
        guard !batch.isEmpty || !hasAsked || outage.isOn else { return }
        (isSending, hasAsked) = (true, true)
        outage.asks(at: .now)
        sender.send(batch.map { ($0, files.settledLook(of: $0)) }, of: sources)
    }

    /// Whether the file is unchanged since it became ready. That may be long ago if the server was away.
    private func isAtRest(_ path: PathKey) -> Bool {
        let look = status(path).map { SettlingFiles.Look($0) }
        guard look != files.settledLook(of: path) else { return true }
        files.changed(path, look, at: .now)
        return false
    }

    func take(_ news: WatchSender.News) {
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

    private func end(_ failure: TransferFailure?) {
        isSending = false
        for path in files.sending { files.returned(path, at: .now) }
        guard let failure, !isStopping, self.failure == nil else { return }
        guard failure.reason == .unreachable || outage.hasConnected && !options.endsWhenSent else {
            self.failure = failure
            return
        }
        let isNew = outage.lost(at: .now)
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

    /// Remembers acknowledged files before their reports are passed on.
    private func remember(_ reports: [(report: UploadReport, fate: SourceFate)]) {
        let stored = reports.compactMap { report, _ in
            Self.isStored(report) ? sent(report).map { (path: path(of: report), file: $0.known) } : nil
        }
        // If sources are removed or moved, the server is asked about every file that is still there, so none is
        // remembered.
        guard options.afterwards == .stays else { return }
        for (path, file) in stored where journal == nil { known.keep(path, file) }
        do throws(SystemError) {
            try journal?.keep(stored)
        } catch {
            guard !isToldOfJournal else { return }
            isToldOfJournal = true
            events.send(
                .notice(
                    "The list of acknowledged files cannot be saved (\(error)): after a restart the "
                        + "client asks the server about them again"
                ))
        }
    }

    /// - Returns: whether the report is passed on.
    private func settle(_ report: UploadReport, _ fate: SourceFate) -> Bool {
        let path = path(of: report)
        let look = status(path).map { SettlingFiles.Look($0) }
        switch report.result {
        case .committed, .alreadyStored:
            // The file was changed or removed since it was read; a new version is sent later.
            if look != sent(report) {
                files.changed(path, look, at: .now)
                return true
            }
            if case .kept = fate {
                let isNew = files.failed(path, SettlingFiles.kept, at: .now)
                return report.result == .committed || isNew
            }
            files.acknowledged(path)
            return true
        case .skipped, .stored:
            if let sent = sent(report) { skipped.keep(path, sent.known) }
            files.acknowledged(path)
            return true
        case .cancelled, .connectionLost:
            files.returned(path, at: .now)
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

    /// The file as it was when it was sent or, for kinds of servers whose reports lack that, when it became ready.
    private func sent(_ report: UploadReport) -> SettlingFiles.Look? {
        report.file ?? files.settledLook(of: path(of: report))
    }

    private static func isStored(_ report: UploadReport) -> Bool {
        [.committed, .alreadyStored, .stored].contains(report.result)
    }

    private func path(of report: UploadReport) -> PathKey {
        PathKey(String(decoding: report.source.utf8.dropFirst(directory.utf8.count + 1), as: UTF8.self))
    }
}
