import TransferModel

/// Files with a second name in the trash, because something is about to replace them. The name has changed their time of change, which is
/// a part of the version, and they may keep their paths in the end: the catalog hears of that then.
struct KeepsUnderWay {
    /// The versions that they had before, by their objects. Two batches may be about to replace one file.
    private var versions: [UInt64: [ContentVersion]] = [:]

    mutating func add(_ version: ContentVersion) { versions[version.object, default: []].append(version) }

    mutating func remove(_ version: ContentVersion) {
        guard let index = versions[version.object]?.firstIndex(of: version) else { return }
        versions[version.object]?.remove(at: index)
        if versions[version.object]?.isEmpty ?? false { versions[version.object] = nil }
    }

    func contains(_ version: ContentVersion) -> Bool { versions[version.object]?.contains(version) ?? false }
}
