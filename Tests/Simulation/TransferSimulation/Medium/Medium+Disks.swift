import Glibc

/// A second disk, which is mounted on a folder. No name of it can be one of the first disk, and what syncs one disk as a whole
/// leaves the other one as it is.
extension Medium {
    /// The folder that it is mounted on.
    static let mount = "v"

    /// What tells the second disk from the first one, in numbers of devices.
    private static let difference: dev_t = 1 << 30

    /// Mounts a new disk for good.
    mutating func mountSecond(in directory: String) {
        mkdir(directory + "/" + Self.mount, 0o755)
        let object = newObject()
        adopt(object, directory + "/" + Self.mount)
        directories[object] = Directory(path: Self.mount)
        directories[root]?.seen[Self.mount] = object
        directories[root]?.certain[Self.mount] = object
        away.insert(object)
    }

    /// What is bound to a name is on the disk of the directory that has the name.
    mutating func settle(_ object: Object?, onDiskOf directory: Object) {
        if let object, away.contains(directory) { away.insert(object) }
    }

    func isOnSameDisk(_ object: Object, as other: Object) -> Bool { away.contains(object) == away.contains(other) }

    /// A status has the device of the disk that an object is on.
    func amend(_ status: inout stat, of object: Object) {
        if away.contains(object) { status.st_dev ^= Self.difference }
    }

    /// Why the kernel refuses a call that names both disks, or what one is mounted on: EXDEV or EBUSY.
    func refusal(of call: SimulatedDisk.NamingCall) -> Int32? {
        guard !away.isEmpty else { return nil }
        switch call {
        case .link(let file, let directory):
            return isOnSameDisk(file, as: directory) ? nil : EXDEV
        case .rename(let source, let name, let target, let newName):
            if isMount(source, name) || isMount(target, newName) { return EBUSY }
            return isOnSameDisk(source, as: target) ? nil : EXDEV
        case .removal(let directory, let name): return isMount(directory, name) ? EBUSY : nil
        }
    }

    private func isMount(_ directory: Object, _ name: String) -> Bool {
        !away.isEmpty && directory == root && name == Self.mount
    }
}

extension SimulatedDisk {
    /// A call that changes names, by what its descriptors stand for.
    enum NamingCall {
        case link(Medium.Object, in: Medium.Object)
        case rename(from: Medium.Object, String, to: Medium.Object, String)
        case removal(from: Medium.Object, String)
    }
}
