import Glibc

// Without optimisation, `==` of the standard library makes several calls for each byte, and tests compare many
// megabytes.

/// Whether both have the same bytes.
package func == (left: [UInt8], right: [UInt8]) -> Bool {
    left.count == right.count
        && left.withUnsafeBytes { left in
            right.withUnsafeBytes { right in
                guard let start = left.baseAddress, let other = right.baseAddress else { return true }
                return memcmp(start, other, left.count) == 0
            }
        }
}

/// Whether both have the same bytes, or both are nil.
package func == (left: [UInt8]?, right: [UInt8]?) -> Bool {
    switch (left, right) {
    case (let left?, let right?): left == right
    case (nil, nil): true
    default: false
    }
}
