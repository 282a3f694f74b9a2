internal import TransferClient
internal import TransferModel

/// Computes the progress of a push from its events.
struct ProgressTracker {
    private var snapshot = ProgressSnapshot(phase: .connecting)
    /// The rate of acknowledged bytes, which predicts the time left.
    private var meter: RateMeter
    /// The rate of bytes on the network, which is shown.
    private let traffic: Traffic
    private var wire: RateMeter
    /// Whether there is a connection. Without a connection, rate and time left are unknown.
    private var isConnected = false
    private var finishedBytes: UInt64 = 0
    /// Finished bytes that were not sent, because the server already had them. They do not count for the rate.
    private var sparedBytes: UInt64 = 0

    /// - Parameter traffic: counts the bytes on the network.
    init(_ traffic: Traffic, at time: MonotonicTime) {
        self.traffic = traffic
        meter = RateMeter(at: time)
        wire = RateMeter(bytes: traffic.bytes, at: time)
    }

    /// - Returns: whether the phase has changed.
    @discardableResult
    mutating func update(_ event: PushEvent, at time: MonotonicTime) -> Bool {
        let before = snapshot.phase
        switch event {
        case .connected:
            snapshot.phase = .sending
            isConnected = true
            measureAnew(at: time)
        case .reconnecting:
            snapshot.phase = .reconnecting
            isConnected = false
        case .counted(let files, let bytes): (snapshot.filesTotal, snapshot.totalSize) = (files, bytes)
        case .progress(let progress): update(progress, at: time)
        case .finished(let report): finish(report)
        case .known(let folder):
            snapshot.filesDone += folder.files
            finishedBytes = finishedBytes.addingClamped(folder.bytes)
            sparedBytes = sparedBytes.addingClamped(folder.bytes)
        case .notice: break
        }
        return snapshot.phase != before
    }

    /// Marks the push as finished.
    mutating func end() {
        snapshot.phase = .finished
    }

    /// The current progress. Must be called regularly, because each call measures the rate.
    mutating func snapshot(at time: MonotonicTime) -> ProgressSnapshot {
        snapshot.totalBytes = snapshot.files.reduce(finishedBytes) { $0.addingClamped($1.bytes) }
        guard isConnected else {
            (snapshot.bytesPerSecond, snapshot.secondsLeft) = (0, nil)
            return snapshot
        }
        meter.record(bytes: doneBytes, at: time)
        wire.record(bytes: traffic.bytes, at: time)
        snapshot.bytesPerSecond = wire.bytesPerSecond
        snapshot.secondsLeft = snapshot.totalSize.flatMap {
            meter.secondsLeft(forBytes: $0 - min($0, snapshot.totalBytes))
        }
        return snapshot
    }

    private mutating func update(_ progress: UploadProgress, at time: MonotonicTime) {
        let index = snapshot.files.firstIndex { $0.source.hasSameBytes(as: progress.source) } ?? snapshot.files.endIndex
        if index == snapshot.files.endIndex { snapshot.files.append(FileProgress(source: progress.source)) }
        let wasResuming = snapshot.files[index].phase == .resuming
        snapshot.files[index].bytes = progress.bytes
        snapshot.files[index].size = progress.size
        snapshot.files[index].phase =
            switch progress.phase {
            case .resuming: .resuming
            case .sending: progress.bytes == progress.size ? .committing : .sending
            }
        // Comparing was faster than sending will be, so the rate is measured again from now on.
        if wasResuming, progress.phase == .sending { measureAnew(at: time) }
        snapshot.show(snapshot.files[index])
    }

    /// Acknowledged bytes without those that the server had before.
    private var doneBytes: UInt64 { snapshot.totalBytes - min(snapshot.totalBytes, sparedBytes) }

    private mutating func measureAnew(at time: MonotonicTime) {
        _ = snapshot(at: time)
        meter = RateMeter(bytes: doneBytes, at: time)
        wire = RateMeter(bytes: traffic.bytes, at: time)
    }

    private mutating func finish(_ report: UploadReport) {
        snapshot.filesDone += 1
        if report.result.isSuccess {
            finishedBytes = finishedBytes.addingClamped(report.size)
            // The reports of a pull do not count attempts.
            let hasTravelled = report.attempts > 0 || report.result == .committed
            if !hasTravelled { sparedBytes = sparedBytes.addingClamped(report.size) }
        } else if report.result != .sourceSkipped {
            snapshot.failed += 1
        }
        snapshot.files.removeAll { $0.source.hasSameBytes(as: report.source) }
        if let next = snapshot.files.first {
            snapshot.show(next)
        } else {
            snapshot.show(FileProgress(source: report.source, bytes: report.size, size: report.size))
        }
    }
}

extension ProgressSnapshot {
    /// Chooses the file that is shown if there is room for only one.
    fileprivate mutating func show(_ file: FileProgress) {
        (currentFile, currentBytes, currentSize) = (file.source, file.bytes, file.size)
        switch file.phase {
        case .resuming: phase = .resuming
        case .sending: phase = .sending
        case .committing: phase = .committing
        }
    }
}
