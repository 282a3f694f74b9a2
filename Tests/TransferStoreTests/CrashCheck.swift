import TransferProtocol
import TransferTestSupport

/// Goes through what a power cut may leave and looks for broken promises.
struct CrashCheck {
    /// Where something was not as it has to be.
    struct Violation: CustomStringConvertible {
        let effects: Int
        let problem: String

        var description: String { "after \(effects) effects: \(problem)" }
    }

    private typealias Object = DiskRecording.Object
    private typealias Entry = DiskRecording.Entry

    private let recording: DiskRecording
    private let model: CrashModel
    private let hidden: Set<DiskRecording.Object>
    private var random: SplitMix64
    private let bound: Int

    /// States looked at.
    private(set) var states = 0
    /// Points at which there were more than could be looked at.
    private(set) var sampledPoints = 0
    private(set) var violations: [Violation] = []

    /// - Parameter bound: states to look at for each point; where there are more, that many drawn with `seed`.
    init(_ recording: DiskRecording, bound: Int, seed: UInt64) {
        self.recording = recording
        self.bound = bound
        model = CrashModel(recording: recording)
        random = SplitMix64(seed: seed)
        let own = recording.entries[Entry(directory: recording.root, name: RelativePath.reservedName)]
        let incoming = own.flatMap { recording.entries[Entry(directory: $0, name: "incoming")] }
        hidden = Set([own, incoming].compactMap { $0 })
    }

    /// A power cut after every effect.
    mutating func checkEverywhere() {
        for end in 0...recording.effects.count { check(at: end) }
    }

    mutating func check(at end: Int) {
        let names = model.names(at: end, hidden: hidden)
        let files = Set(names.flatMap(\.meanings).compactMap { $0 }).subtracting(recording.directories).sorted()
        let contents = files.map { model.content(of: $0, at: end).variants(&random) }
        let options = names.map(\.meanings.count) + contents.map(\.count)
        for choice in choices(options) {
            states += 1
            var found = Found()
            for (name, option) in zip(names, choice) { found.names[name.entry] = name.meanings[option] }
            for (index, file) in files.enumerated() {
                found.contents[file] = contents[index][choice[names.count + index]]
            }
            if let problem = problem(found, at: end) {
                violations.append(Violation(effects: end, problem: problem))
                return
            }
        }
    }

    /// All combinations where they are few; otherwise the oldest of everything, the newest, each thing alone newest and
    /// alone oldest, and random ones.
    private mutating func choices(_ options: [Int]) -> [[Int]] {
        let (count, overflow) = options.reduce((1, false)) { product, option in
            let (value, overflow) = product.0.multipliedReportingOverflow(by: option)
            return (value, overflow || product.1)
        }
        if !overflow, count <= bound { return Self.all(options) }
        sampledPoints += 1
        let oldest = options.map { _ in 0 }
        let newest = options.map { $0 - 1 }
        var chosen = [oldest, newest]
        for index in options.indices where options[index] > 1 {
            chosen.append(oldest.with(newest[index], at: index))
            chosen.append(newest.with(0, at: index))
        }
        while chosen.count < bound { chosen.append(options.map { Int.random(in: 0..<$0, using: &random) }) }
        return chosen
    }

    private static func all(_ options: [Int]) -> [[Int]] {
        options.reduce([[]]) { chosen, option in chosen.flatMap { start in (0..<option).map { start + [$0] } } }
    }
}

extension CrashCheck {
    /// One state of the disk.
    private struct Found {
        var names: [Entry: Object] = [:]
        var contents: [Object: [UInt8]] = [:]

        /// What has the path.
        func object(_ path: String, below root: Object) -> Object? {
            path.split(separator: "/").reduce(root) { directory, name in
                directory.flatMap { names[Entry(directory: $0, name: String(name))] }
            }
        }
    }

    private func problem(_ found: Found, at end: Int) -> String? {
        // A name in a directory that is not there itself is not seen, but is no worse for it.
        for (entry, object) in found.names where !recording.directories.contains(object) {
            if found.contents[object] != recording.wholeContent(of: object) { return "\(entry.name) is not whole" }
        }
        var acknowledged: [String: (index: Int, content: [UInt8])] = [:]
        for (index, effect) in recording.effects[..<end].enumerated() {
            if case .acknowledge(let path, let content) = effect { acknowledged[path] = (index, content) }
        }
        for (path, promise) in acknowledged {
            guard let object = found.object(path, below: recording.root) else { return "\(path) is lost" }
            if found.contents[object] != promise.content, !isNamed(object, path, after: promise.index) {
                return "\(path) has other content"
            }
        }
        return nil
    }

    /// Whether somebody has given the name to the object since then.
    private func isNamed(_ object: Object, _ path: String, after index: Int) -> Bool {
        let name = path.split(separator: "/").last.map(String.init)
        return recording.effects[index...].contains { effect in
            if case .name(object, let entry) = effect { entry.name == name } else { false }
        }
    }
}

extension [Int] {
    fileprivate func with(_ value: Int, at index: Int) -> [Int] {
        var copy = self
        copy[index] = value
        return copy
    }
}
